import { mkdirSync, symlinkSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, onTestFinished, test } from 'vitest'
import {
  type DrillRehearsal,
  runDisasterDrill,
  switchPrimaryOver,
} from '../../infra/local/commands/drill/drill.ts'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { DEMONSTRATION_INSTANCE, HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { type CommandEnd, commandFile, endedWhen, startCommand } from '../support/programs/command.ts'
import { healthChecks } from '../support/programs/health-checks.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { rekeyIn } from '../support/programs/rekeying.ts'
import { promotionIn, type RunbookPair, startRunbookPair } from '../support/programs/runbook-pair.ts'
import type { Shell } from '../support/programs/shell.ts'
import { storyOf } from '../support/programs/story.ts'
import { call } from '../support/service/api.ts'
import { invokeAt } from '../support/service/invoke.ts'

// Pastes the blocks of the runbooks into a bash against two clusters under load, in the order of a bad
// week. The clusters' files are in .local/ of a temporary folder, as on an operator's machine.

const R = '/sys/replication/dr'
let rehearsal: DrillRehearsal
let shell: Shell
let checkout: string
let follow: RunbookPair['follow']
let close: RunbookPair['close'] | undefined
beforeAll(async () => {
  ;({ rehearsal, shell, checkout, follow, close } = await startRunbookPair())
})
afterAll(() => close?.())
beforeEach(() =>
  onTestFailed(() => {
    for (const host of [rehearsal.east, rehearsal.west]) process.stderr.write(`${storyOf(host)}\n`)
  }),
)

/** Runs the journal worker now, which otherwise runs every minute. */
const minuteOf = (host: LocalHost) => invokeAt(host, 'on-journal', { source: 'aws.events' })

test("a cluster that shares another's imitated AWS has its own region and key", () => {
  const places = [rehearsal.east, rehearsal.west].map(host => {
    const { environment } = host.runtimeOf('init')
    return { region: environment['AWS_REGION'], key: environment['KEY_ARN']?.split(':')[3] }
  })
  expect(places).toEqual([
    { region: 'us-east-1', key: 'us-east-1' },
    { region: 'us-west-2', key: 'us-west-2' },
  ])
})

/** Reports whether the command's data about a cluster are recent. */
const isFresh = ({ age_ms, peers: [peer] }: { age_ms: number; peers: { heard_age_ms: number }[] }): boolean =>
  age_ms < 5000 && peer !== undefined && peer.heard_age_ms < 30_000

// each test continues from the state of the previous test
describe('the runbooks in sequence', () => {
  test('"Who may do it" prepares a token that east and west accept', async () => {
    const [prepare = '', ask = ''] = blocksOf('README', 'Who may do it')
    await shell.paste(prepare)
    const token = await shell.value('OPERATION')
    expect(token).toMatch(/^hvb\./)
    // the policy may take a moment to reach the other cluster
    await eventually(async () => {
      const path = `${R}/secondary/readiness`
      const asked = await call(rehearsal.west.base_url, 'POST', path, { dr_operation_token: token })
      return asked.status === 200 ? true : undefined
    })
    const { stdout } = await shell.paste(ask)
    expect(stdout.match(/"ready": true/g)).toHaveLength(2)
  })

  test('"planned switch" makes west the primary without losses, and the two clusters never serve at the same time', async () => {
    const { east, west, root } = rehearsal
    const three = await call(east.base_url, 'POST', '/auth/token/create', { num_uses: 3 }, { token: root })
    const { client_token: token } = three.body.auth
    const lookUp = (host: LocalHost) =>
      call(host.base_url, 'GET', '/auth/token/lookup-self', undefined, { token })
    expect((await lookUp(east)).body.data.num_uses).toBe(2)
    const switched = await switchPrimaryOver(
      rehearsal,
      { from: east, to: west },
      {
        promote: () => follow('planned-switch', 0, promotionIn('planned-switch')),
        rejoin: () => follow('planned-switch', promotionIn('planned-switch')),
      },
    )
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    expect(switched.logins).toBeGreaterThan(0)
    expect((await call(east.base_url, 'GET', '/sys/health')).status).toBe(472)
    expect((await call(west.base_url, 'GET', '/sys/health')).status).toBe(200)
    // uses and nonces from east count on west
    expect((await lookUp(west)).body.data.num_uses).toBe(1)
    expect([(await lookUp(west)).status, (await lookUp(west)).status]).toEqual([200, 403])
    const pkcs7 = (await east.control.documents(DEMONSTRATION_INSTANCE)).rsa2048.replaceAll('\n', '')
    const login = (nonce: string) =>
      call(west.base_url, 'POST', '/auth/cloud/login', { role: 'demo-ec2', pkcs7, nonce })
    const stranger = await login('of somebody else')
    expect([stranger.status, stranger.body.errors]).toEqual([400, ['nonce does not match']])
    const again = await login('chosen-by-the-workload')
    expect(again.status, again.text).toBe(200)
  })

  test('"failback" makes east the primary again without losses', async () => {
    const { east, west } = rehearsal
    const switched = await switchPrimaryOver(
      rehearsal,
      { from: west, to: east },
      { promote: () => follow('failback', 0, 1), rejoin: () => follow('failback', 1) },
    )
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    expect((await call(east.base_url, 'GET', '/sys/health')).status).toBe(200)
  })

  test('`cloud-auth status` prints the status of east and west as text and as JSON', async () => {
    mkdirSync(`${checkout}/bin`)
    symlinkSync(commandFile, `${checkout}/bin/cloud-auth`)
    await shell.paste('PATH=$PWD/bin:$PATH')
    const [block = ''] = blocksOf('docs/look-up/command.md', 'Status')
    const shown = await eventually(async () => {
      const told = JSON.parse((await shell.paste(`${block} --json || true`)).stdout)
      return told.verdict === 'done' && told.clusters.every(isFresh) ? told : undefined
    })
    expect(shown).toMatchObject({ verdict: 'done', faults: [] })
    expect(shown.clusters).toMatchObject([
      {
        name: 'east',
        role: 'primary',
        serves: true,
        health: 200,
        operation: null,
        peers: [{ connected: true }],
      },
      {
        name: 'west',
        role: 'secondary',
        serves: false,
        health: 472,
        state: 'stream-wals',
        lag: expect.any(Number),
      },
    ])
    const { stdout } = await shell.paste(block)
    expect(stdout).toMatch(
      /^east: primary, running, serves\n[\s\S]*\nwest: secondary, stream-wals\n[\s\S]*All is well\.\n$/,
    )
    // the shell ends when a line fails
    const away = await shell.paste(`${block} north=http://127.0.0.1:1 || echo "code $?"`)
    expect(away.stdout).toMatch(/\nnorth: cannot be reached\n[\s\S]*code 3\n$/)
  })

  test('`cloud-auth switch` under load resumes after the command was killed midway', async () => {
    const { east, west } = rehearsal
    const ends: CommandEnd[] = []
    const switched = await switchPrimaryOver(
      rehearsal,
      { from: east, to: west },
      {
        promote: async () => {
          ends.push(
            await endedWhen(await switching(east, west, 'y\ny\n'), 'SIGKILL', () => isTakingOver(west)),
          )
          expect(ends[0]?.status, `killed in the middle: ${ends[0]?.stderr}`).toBe(null)
          await eventually(async () => ((await healthOf(west)) === 200 ? true : undefined))
          ends.push(await (await switching(east, west, 'n\n', '--json')).ended)
        },
        rejoin: () => shell.paste(blocksOf('docs/look-up/command.md', 'Switch')[0] ?? ''),
      },
    )
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    expect(switched.logins).toBeGreaterThan(0)
    expect(ends[0]).toMatchObject({
      status: null,
      stderr: expect.stringContaining('2. Switch: west is ready.'),
    })
    expect(ends[1]).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(
        /4\. Follow: [\s\S]*Stopped before the next step\. west serves; east does not follow it yet\./,
      ),
    })
    expect(JSON.parse(ends[1]?.stdout ?? '')).toMatchObject({
      ended: 'declined',
      done: [],
      where: expect.stringMatching(/^west serves; east does not follow it yet\./),
    })
  })

  test('`cloud-auth switch` back resumes after Ctrl-C, which prints how to continue', async () => {
    const { east, west } = rehearsal
    const ends: CommandEnd[] = []
    const switched = await switchPrimaryOver(
      rehearsal,
      { from: west, to: east },
      {
        promote: async () => {
          ends.push(
            await endedWhen(await switching(west, east, '', '--yes'), 'SIGINT', () => isTakingOver(east)),
          )
          expect(ends[0]?.status, `broken off in the middle: ${ends[0]?.stderr}`).toBe(130)
          ends.push(await (await switching(west, east, '', '--yes', '--json')).ended)
        },
        rejoin: async () => undefined,
      },
    )
    const [broken, resumed] = ends
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    expect(resumed?.status, resumed?.stderr).toBe(0)
    expect(JSON.parse(resumed?.stdout ?? '')).toMatchObject({ ended: 'done' })
    expect(JSON.parse(resumed?.stdout ?? '').done.at(-1)).toMatchObject({ step: 'follow' })
    expect(broken).toMatchObject({
      status: 130,
      stderr: expect.stringMatching(
        /\nInterrupted\. .*east.*to continue from the current state of the clusters\.\n$/,
      ),
    })
    // a repeated switch finds nothing to do
    const again = await (await switching(west, east, '', '--yes', '--json')).ended
    expect(again.status, again.stderr).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({
      done: [],
      where: expect.stringMatching(/^east serves, and west is its secondary\./),
    })
    expect(JSON.stringify([...ends, again])).not.toContain(await shell.value('OPERATION'))
  })

  test('"drill" writes its policy and starts a drill, which stops without the setting', async () => {
    const started = JSON.parse(await follow('drill')) as { executionArn: string }
    const describe = `$AWS_EAST stepfunctions describe-execution --execution-arn ${started.executionArn}`
    const ended = await eventually(async () => {
      const { status, error } = JSON.parse((await shell.paste(describe)).stdout)
      return status === 'RUNNING' ? undefined : { status, error }
    })
    expect(ended).toEqual({ status: 'FAILED', error: 'DrillStopped' })
  })

  test('"disaster" makes west the primary by force, and east stops, follows and reports the losses', async () => {
    const { west } = rehearsal
    const { url, updates, close } = await healthChecks()
    onTestFinished(close)
    await shell.paste(
      `ROUTE53="aws --region us-east-1 --endpoint-url ${url} route53" CHECK_EAST=check-of-east`,
    )
    const found = await runDisasterDrill(rehearsal, {
      promote: () => follow('disaster', 0, 3),
      healed: () => minuteOf(west),
      rejoin: () => follow('disaster', 3),
    })
    // the health check of east is ignored until east is a secondary
    expect(updates).toEqual([
      { check: 'check-of-east', Disabled: 'true', Inverted: 'true' },
      { check: 'check-of-east', Disabled: 'false', Inverted: 'false' },
    ])
    expect(found.lost.length).toBeGreaterThan(0)
    expect(found.reported.toSorted()).toEqual(found.lost.toSorted())
  })

  test('"lost shares" makes an operation token with recovery shares on the secondary, now east', async () => {
    await swapped()
    await shell.paste('PREPARED=$OPERATION OPERATION=')
    const [first = '', second = '', last = '', invoked = ''] = blocksOf('lost-shares')
    // begins the switch with a token, then as an IAM principal that may invoke the function
    for (const begin of [first, invoked]) {
      await shell.paste('NONCE=; OPERATION=')
      for (const block of [begin, second]) await shell.paste(block)
      expect(await shell.value('OPERATION')).toMatch(/^hvs\./)
      await shell.paste(last)
    }
    await rekeyIn(shell)
    await shell.paste('echo "$PREPARED" > "$KEPT"')
  })

  test('"stolen" revokes the secondary and replaces its secrets, and checks each of them', async () => {
    const [east, root] = [rehearsal.west, rehearsal.root]
    const on = (method: string, path: string, body?: unknown, token = root) =>
      call(east.base_url, method, path, body, { token })
    await shell.paste('OPERATION=$(cat "$KEPT")')
    const prepared = await shell.value('OPERATION')
    expect((await on('GET', `${R}/readiness`, undefined, prepared)).status).toBe(200)
    const headers = { 'X-Vault-Wrap-TTL': '60' }
    const wrapped = await call(east.base_url, 'POST', '/auth/token/create', {}, { token: root, headers })
    const { token: wrapping, accessor } = wrapped.body.wrap_info
    const key = await ownKey(east)
    await on('POST', '/auth/cloud/config/client', {
      access_key: key.accessKeyId,
      secret_key: key.secretAccessKey,
    })
    const tagged = {
      auth_type: 'ec2',
      bound_account_id: HOME_ACCOUNT.account,
      role_tag: 'CloudRole',
      token_policies: 'dev',
    }
    await on('POST', '/auth/cloud/role/tagged', tagged)
    const before = (await on('GET', '/auth/cloud/role/tagged')).body.data
    await on('POST', `${R}/primary/secondary-token`, { id: 'never-came' })
    await shell.paste(`NAMED=east WRAPPED=${accessor}`)
    const rekeyed = blocksOf('stolen').findIndex(block => block.includes('OLD_SHARE'))
    await follow('stolen', 0, rekeyed)
    await rekeyIn(shell)
    await follow('stolen', rekeyed)
    expect((await on('GET', `${R}/status`)).body.data.known_secondaries).toEqual([])
    expect((await on('GET', `${R}/readiness`, undefined, prepared)).status).toBe(403)
    expect(await shell.value('OPERATION')).not.toBe(prepared)
    expect((await on('POST', '/sys/wrapping/unwrap', { token: wrapping }, '')).status).toBe(400)
    expect((await on('GET', '/auth/cloud/config/client')).body.data.access_key).not.toBe(key.accessKeyId)
    expect((await on('GET', '/auth/cloud/role/tagged')).body.data).toEqual({
      ...before,
      role_id: expect.any(String),
    })
  })

  test('"restore" ends the set and starts another', async () => {
    await rehearsal.load.end()
    await follow('restore')
    expect((await call(rehearsal.west.base_url, 'GET', `${R}/status`)).body.data).toMatchObject({
      mode: 'primary',
      known_secondaries: [],
    })
  })
})

/** Starts a switch by the command with the prepared token. @param answers to its prompts */
async function switching(from: LocalHost, to: LocalHost, answers: string, ...options: string[]) {
  const words = [
    'switch',
    ...options,
    ...[from, to].map(host => `${checkout}/.local/${host.cluster}/cluster.json`),
  ]
  return startCommand(words, {}, { input: `${await shell.value('OPERATION')}\n${answers}` })
}
const healthOf = async (host: LocalHost): Promise<number> =>
  (await call(host.base_url, 'GET', '/sys/health')).status
/** Reports whether a promotion has started on a host or is complete. */
const isTakingOver = async (host: LocalHost): Promise<boolean> => {
  const { operation, mode } = (await call(host.base_url, 'GET', `${R}/status`)).body.data
  return operation?.name === 'promotion' || mode === 'primary'
}

/** Creates an access key of the cluster's own account for a mount's configuration. */
async function ownKey({ control }: LocalHost) {
  await control.putUser({ account: HOME_ACCOUNT.account, name: 'mount' })
  return control.createAccessKey({ account: HOME_ACCOUNT.account, user: 'mount' })
}

/** Swaps the variables, because the pages call the primary east and west is the primary now. */
const swapped = () =>
  shell.paste(
    'WAS=$EAST; EAST=$WEST; WEST=$WAS; WAS=$LAMBDA_EAST; LAMBDA_EAST=$LAMBDA_WEST; LAMBDA_WEST=$WAS; WAS=$CEREMONY_EAST; CEREMONY_EAST=$CEREMONY_WEST; CEREMONY_WEST=$WAS',
  )
