import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type DrillRehearsal,
  runDisasterDrill,
  startDrillRehearsal,
  switchPrimaryOver,
} from '../../infra/local/commands/drill/drill.ts'
import { createWebToken } from '../../infra/local/commands/start/demonstration.ts'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { readDrStatus, requestHost, requestReplication } from '../../infra/local/pair/dr-client.ts'
import { DEMONSTRATION_INSTANCE, WORKLOAD_INSTANCE } from '../../infra/local/provider/home.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { call } from '../support/service/api.ts'
import { makeClusterFollow } from '../support/service/follow.ts'

// Role changes of two real clusters under load: which tokens of AWS stay used, which can be used again, and that an
// ended instance stays ended.

const USED = '400 the token has been used; ask AWS for a new one'
const ENDED = '400 the instance has ended'
const ONCE = 'tokens of AWS that logged in after that position can log in once more on this cluster'

let rehearsal: DrillRehearsal
/** Tokens of the service that end with an instance, each by the role that gave it. */
const given = { ended: '', running: '' }

beforeAll(async () => {
  const options = { port: 0, memory: true, unlisted: true, pauseMs: 200 }
  const progress: string[] = []
  rehearsal = await startDrillRehearsal(options, text => void progress.push(text))
  const { east, west } = rehearsal
  expect((await readDrStatus(west)).mode, progress.join('\n')).toBe('secondary')
  for (const [role, { instanceId }] of Object.entries({
    ended: DEMONSTRATION_INSTANCE,
    running: WORKLOAD_INSTANCE,
  }))
    await requestHost(east, `auth/cloud/role/${role}`, {
      auth_type: 'jwt',
      bound_ec2_instance_id: instanceId,
      bound_account_id: DEMONSTRATION_INSTANCE.account,
      revoke_on_termination: true,
    })
  given.ended = (await logIn(east, await newToken(), 'ended')).token
  given.running = (await logIn(east, await createWebToken(east, WORKLOAD_INSTANCE), 'running')).token
  expect(await statusesOn(east)).toEqual({ ended: 200, running: 200 })
  await east.control.setInstance({ ...DEMONSTRATION_INSTANCE, state: 'terminated' })
  await eventually(async () => (await statusesOn(east)).ended === 403 || undefined)
})
afterAll(() => rehearsal?.close())

const newToken = (): Promise<string> => createWebToken(rehearsal.east)

/** Logs in. @returns the status with the errors, and the token of the service, empty without a login */
async function logIn({ base_url }: LocalHost, jwt: string, role = 'demo-jwt') {
  const { status, body } = await call(base_url, 'POST', '/auth/cloud/login', { role, jwt })
  return {
    outcome: [status, ...(body?.errors ?? [])].join(' '),
    token: String(body?.auth?.client_token ?? ''),
  }
}

/** Logs in with each token. @returns the different outcomes */
async function outcomesOf(host: LocalHost, tokens: readonly string[]): Promise<string[]> {
  const outcomes = new Set<string>()
  for (const one of tokens) outcomes.add((await logIn(host, one)).outcome)
  return [...outcomes]
}

async function statusesOn({ base_url }: LocalHost) {
  const statusOf = async (token: string) =>
    (await call(base_url, 'GET', '/auth/token/lookup-self', undefined, { token })).status
  return { ended: await statusOf(given.ended), running: await statusOf(given.running) }
}

/** Checks that the instance which ended before the role change has ended on a cluster, and that the other runs. */
async function expectEnded(host: LocalHost): Promise<void> {
  expect(await statusesOn(host)).toEqual({ ended: 403, running: 200 })
  expect((await logIn(host, await newToken(), 'ended')).outcome).toBe(ENDED)
}

/** Waits until a promoted cluster accepts logins. */
const untilServing = (host: LocalHost) =>
  eventually(async () => (await logIn(host, await newToken())).token !== '' || undefined)

/** Logs in with new tokens while a promotion runs. @returns the tokens whose login was acknowledged */
async function useTokensDuring(host: LocalHost, promotion: Promise<unknown>): Promise<string[]> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  promotion.then(end, end)
  const used: string[] = []
  while (!isOver) {
    const jwt = await newToken()
    if ((await logIn(host, jwt)).token !== '') used.push(jwt)
  }
  return used
}

test.each([
  ['east', 'west'],
  ['west', 'east'],
] as const)(
  'after a planned switch from %s to %s, used tokens stay used and other tokens log in',
  async (...names) => {
    const [from, to] = [rehearsal[names[0]], rehearsal[names[1]]]
    const body = { dr_operation_token: rehearsal.token }
    const unused = [await newToken(), await newToken()]
    const used: string[] = []
    let warnings: readonly string[] = []
    const { lost } = await switchPrimaryOver(
      rehearsal,
      { from, to },
      {
        promote: async () => {
          for (let count = 0; count < 20; count++) used.push(await newToken())
          expect(await outcomesOf(from, used)).toEqual(['200'])
          const promotion = requestReplication(to, 'secondary/promote', body)
          used.push(...(await useTokensDuring(from, promotion)))
          warnings = (await promotion).warnings ?? []
          await untilServing(to)
          expect(await outcomesOf(to, used)).toEqual([USED])
          expect(await outcomesOf(to, unused)).toEqual(['200'])
          expect(await outcomesOf(to, unused)).toEqual([USED])
          await expectEnded(to)
        },
        rejoin: () => makeClusterFollow(`${from.cluster}-again`, from, to, rehearsal.token),
      },
    )
    expect(String(warnings)).not.toContain('tokens of AWS')
    expect(lost).toEqual([])
    process.stdout.write(`${used.length} used tokens are refused on ${to.cluster}\n`)
  },
)

test('after a forced promotion, tokens that were used in the lost seconds log in once more, as its warning says', async () => {
  const { east, west, token } = rehearsal
  const replicated = [await newToken(), await newToken()]
  const lost = [await newToken(), await newToken(), await newToken()]
  const unused = [await newToken()]
  let warnings: readonly string[] = []
  expect(await outcomesOf(east, replicated)).toEqual(['200'])
  await runDisasterDrill(rehearsal, {
    promote: async () => {
      expect(await outcomesOf(east, lost)).toEqual(['200'])
      const body = { dr_operation_token: token, force: true }
      warnings = (await requestReplication(west, 'secondary/promote', body)).warnings ?? []
      await untilServing(west)
      expect(await outcomesOf(west, replicated)).toEqual([USED])
      expect(await outcomesOf(west, [...lost, ...unused])).toEqual(['200'])
      expect(await outcomesOf(west, [...lost, ...unused])).toEqual([USED])
      await expectEnded(west)
    },
  })
  expect(warnings).toContainEqual(expect.stringContaining(`${ONCE}, for at most 360 s`))
  const { data } = await requestReplication(east, 'divergence', undefined, token)
  // the report of the former primary counts the records of the tokens that can log in once more
  expect(data).toMatchObject({ counts: { kinds: { spent: { written: lost.length } } } })
  await expectEnded(west)
})
