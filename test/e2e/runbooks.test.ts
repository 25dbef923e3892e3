import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest'
import { disaster, type Rehearsal, startRehearsal, switchOver } from '../../infra/local/drill/drill.ts'
import { WORKLOAD } from '../../infra/local/home.ts'
import type { Host } from '../../infra/local/host.ts'
import { call } from '../support/api.ts'
import { commandsOf, perform, type Shell } from '../support/runbook.ts'
import { storyOf } from '../support/story.ts'

// What the runbooks say is done here as it stands there, against two clusters under load, in the order of a bad week.

let rehearsal: Rehearsal
let shell: Shell
beforeAll(async () => {
  // some logins at any moment are enough to lose one: more of them are for drills
  // and the pair of the test beside this one has the same names
  const options = { port: 0, memory: true, unlisted: true, pauseMs: 500 }
  rehearsal = await startRehearsal(options, () => undefined)
  const { east, west, root } = rehearsal
  const shares = east.recovery_keys.map((share, index) => [`SHARE_${index + 1}`, share])
  shell = {
    variables: {
      ...{ EAST: east.base_url, WEST: west.base_url, TOKEN: root },
      ...{ WEST_PROMOTION: machineOf(west, 'promotion') },
      ...Object.fromEntries(shares),
    },
    startExecution: (stateMachineArn, input) =>
      statesOf(west)
        .send(new StartExecutionCommand({ stateMachineArn, input }))
        .then(() => undefined),
  }
}, 240_000)
afterAll(() => rehearsal?.close())
beforeEach(() =>
  onTestFailed(() => {
    for (const host of [rehearsal.east, rehearsal.west]) process.stderr.write(`${storyOf(host)}\n`)
  }),
)

const machineOf = (host: Host, workflow: string): string =>
  `${host.runtimeOf('replication').environment['WORKFLOWS']}${workflow}`

const statesOf = (host: Host): SFNClient =>
  new SFNClient({
    endpoint: host.states_url,
    region: 'us-west-2',
    credentials: { accessKeyId: 'an operator', secretAccessKey: 'of the console' },
  })

/** Some commands of a runbook: those up to the promotion, those behind it, or all. */
async function follow(name: string, part: 'promote' | 'rest' | 'all' = 'all', as = shell): Promise<void> {
  const commands = commandsOf(name)
  const behind = commands.findIndex(command => command.includes('secondary/promote')) + 1
  const [from, to] = { promote: [0, behind], rest: [behind, commands.length], all: [0, commands.length] }[
    part
  ]
  expect(commands.slice(from, to).length).toBeGreaterThan(0)
  for (const command of commands.slice(from, to)) await perform(command, as)
}

/** The worker that looks every minute, now. */
const minuteOf = (host: Host) =>
  call(host.lambda_url, 'POST', '/2015-03-31/functions/on-journal/invocations', { source: 'aws.events' })

test('a cluster beside another one’s imitated AWS lives in its own region, with a key of its own', () => {
  const places = [rehearsal.east, rehearsal.west].map(host => {
    const { environment } = host.runtimeOf('init')
    return { region: environment['AWS_REGION'], key: environment['KEY_ARN']?.split(':')[3] }
  })
  expect(places).toEqual([
    { region: 'us-east-1', key: 'us-east-1' },
    { region: 'us-west-2', key: 'us-west-2' },
  ])
})

// each begins where the one before it has ended
describe('the runbooks, one after the other', () => {
  test('a token is prepared', async () => {
    await follow('README')
    expect(shell.variables['OPERATION']).toMatch(/^hvb\./)
  })

  test('planned switch: west takes over, nothing is lost, never do two serve', async () => {
    const { east, west, root } = rehearsal
    const three = await call(east.base_url, 'POST', '/auth/token/create', { num_uses: 3 }, { token: root })
    const { client_token: token } = three.body.auth
    const lookUp = (host: Host) => call(host.base_url, 'GET', '/auth/token/lookup-self', undefined, { token })
    expect((await lookUp(east)).body.data.num_uses).toBe(2)
    const switched = await switchOver(
      rehearsal,
      { from: east, to: west },
      {
        promote: () => follow('planned-switch', 'promote'),
        rejoin: () => follow('planned-switch', 'rest'),
      },
    )
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    expect(switched.logins).toBeGreaterThan(0)
    expect((await call(east.base_url, 'GET', '/sys/health')).status).toBe(472)
    expect((await call(west.base_url, 'GET', '/sys/health')).status).toBe(200)
    // what was used there is not given back here, and who had logged in there is known here
    expect((await lookUp(west)).body.data.num_uses).toBe(1)
    expect([(await lookUp(west)).status, (await lookUp(west)).status]).toEqual([200, 403])
    const pkcs7 = (await east.control.documents(WORKLOAD)).rsa2048.replaceAll('\n', '')
    const login = (nonce: string) =>
      call(west.base_url, 'POST', '/auth/cloud/login', { role: 'demo-ec2', pkcs7, nonce })
    const stranger = await login('of somebody else')
    expect([stranger.status, stranger.body.errors]).toEqual([400, ['nonce does not match']])
    const again = await login('chosen-by-the-workload')
    expect(again.status, again.text).toBe(200)
  })

  test('failback: east takes over again', async () => {
    const { east, west } = rehearsal
    const switched = await switchOver(
      rehearsal,
      { from: west, to: east },
      { promote: () => follow('failback', 'promote'), rejoin: () => follow('failback', 'rest') },
    )
    expect(switched).toMatchObject({ lost: [], mostAtOnce: 1 })
    expect((await call(east.base_url, 'GET', '/sys/health')).status).toBe(200)
  })

  test('disaster: west takes over by force; east closes by itself, follows, and names what was lost', async () => {
    const { west } = rehearsal
    const found = await disaster(rehearsal, {
      promote: () => follow('disaster', 'promote'),
      healed: () => minuteOf(west),
      rejoin: () => follow('disaster', 'rest'),
    })
    expect(found.lost.length).toBeGreaterThan(0)
    expect(found.reported.toSorted()).toEqual(found.lost.toSorted())
  })

  test('lost shares: holders of shares make a token on the secondary, which is east now', async () => {
    const { EAST = '', WEST = '' } = shell.variables
    const swapped: Shell = { ...shell, variables: { ...shell.variables, EAST: WEST, WEST: EAST } }
    await follow('lost-shares', 'all', swapped)
    expect(swapped.variables['OPERATION']).toMatch(/^hvs\./)
  })

  test('restore: the set ends, and another one begins', async () => {
    const { EAST = '', WEST = '' } = shell.variables
    await rehearsal.load.end()
    await follow('restore', 'all', { ...shell, variables: { ...shell.variables, EAST: WEST, WEST: EAST } })
    expect((await call(WEST, 'GET', '/sys/replication/dr/status')).body.data).toMatchObject({
      mode: 'primary',
      known_secondaries: [],
    })
  })
})
