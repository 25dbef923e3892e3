import { describe, expect, onTestFinished, test } from 'vitest'
import { type SwitchProgress, switchPrimaryOfSet } from '../../../../infra/command/set/switch.ts'
import { webServer } from '../../../support/service/server.ts'

// Two servers that imitate clusters of a set. The tests of the runbooks perform real switches.

type Change = [path: string, status: number, body: object, then?: () => void]

/** The state of both clusters; the servers read it for each answer. */
interface Play {
  east: Record<string, unknown>
  west: Record<string, unknown>
  isEastLost?: boolean
  /** the state change, or the failure, of each requested path */
  changes: Change[]
}

const SET = { cluster_id: 'set', ssct_generation_counter: 1 }
const primary = {
  ...SET,
  mode: 'primary',
  state: 'running',
  secondaries: [],
  known_secondaries: ['west', 'east'],
}
const closed = { ...SET, mode: 'secondary', state: 'idle', known_primary_cluster_addrs: [] }
const following = {
  ...closed,
  state: 'stream-wals',
  connection_state: 'ready',
  known_primary_cluster_addrs: ['x'],
}
const READY = {
  checks: [],
  lag: { primary: 'answers' },
  license: { seconds_left: 1_000_000 },
  operation_token: { presented: { counts: true } },
}

/**
 * Runs a switch by the command. @param answers answers to the questions; a function means yes and runs before
 * the answer
 */
async function played(play: Play, answers: readonly (boolean | (() => void))[], acceptLoss?: string) {
  const asked: string[] = []
  const clusterOf = async (name: 'east' | 'west') => {
    const { url } = await webServer(onTestFinished, ({ url: path = '' }, response) => {
      const end = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body))
      if (play.isEastLost && name === 'east') return response.destroy()
      const health = play[name]['mode'] === 'primary' ? 200 : 472
      if (path === '/sys/health') return end(health, { cluster_name: name })
      if (path.endsWith('dr/status')) return end(200, { data: play[name] })
      asked.push(`${name} ${path.replace('/sys/replication/dr/', '')}`)
      const index = play.changes.findIndex(([one]) => path.endsWith(one))
      const usual: Change = [path, 200, { data: {} }]
      const [, status, body, then] = play.changes.splice(index, index < 0 ? 0 : 1)[0] ?? usual
      then?.()
      return end(status, body)
    })
    return { name, base: url }
  }
  const left = [...answers]
  const said: string[] = []
  const progress: SwitchProgress = { done: [], where: '' }
  const ports = {
    connection: { timeoutMs: 5000 },
    token: 'hvb.operation',
    acceptLoss,
    confirm: async () => {
      const answer = left.shift() ?? false
      if (typeof answer === 'function') answer()
      return answer !== false
    },
    say: (text: string) => void said.push(text),
    progress,
  }
  const result = await switchPrimaryOfSet(
    { from: await clusterOf('east'), to: await clusterOf('west') },
    ports,
  ).then(
    () => progress.done.map(({ step }) => step),
    (error: Error) => error.message,
  )
  return { result, asked, where: progress.where, said }
}

const ready: Change = ['secondary/readiness', 200, { data: READY }]
const taken = (play: Play) => () =>
  Object.assign(play, { east: closed, west: { ...primary, ssct_generation_counter: 2 } })
const joined = (play: Play) => () => Object.assign(play, { east: following })

function whole(): Play {
  const play: Play = { east: primary, west: following, changes: [] }
  play.changes = [
    ready,
    ['secondary/promote', 200, {}, taken(play)],
    ['secondary/generate-public-key', 200, { data: { secondary_public_key: 'key' } }],
    ['primary/secondary-token', 200, { data: { token: 'jwt' } }],
    ['secondary/update-primary', 200, {}, joined(play)],
  ]
  return play
}

describe('the command switch', () => {
  test('the command sends each request once, in the order of the runbook', async () => {
    const { result, asked, where } = await played(whole(), [true, true])
    expect(result).toEqual(['promote', 'follow'])
    expect(asked).toEqual([
      'west secondary/readiness',
      'west secondary/promote',
      'east secondary/generate-public-key',
      'west primary/secondary-token',
      'east secondary/update-primary',
    ])
    expect(where).toMatch(/^west serves, and east is its secondary\./)
  })

  test('the command changes nothing without a confirmation', async () => {
    const { result, asked } = await played(whole(), [false])
    expect(result).toMatch(/^Stopped before the next step\. east serves, and west is its secondary/)
    expect(asked).toEqual(['west secondary/readiness'])
  })

  test('the command waits while a readiness check fails for a short time', async () => {
    const play = whole()
    const behind = { ...READY, lag: { primary: 'silent' } }
    play.changes.unshift(['secondary/readiness', 200, { data: behind }])
    const { result, said } = await played(play, [true, true])
    expect(result).toEqual(['promote', 'follow'])
    expect(said.join()).toContain(
      'west: it has no contact to its primary, which therefore cannot hand over; retrying for 30 s',
    )
  })

  test('the command reports a refusal with the error and the state of the set', async () => {
    const play = whole()
    const errors = ['handed-over-not-claimed']
    play.changes[1] = ['secondary/promote', 400, { errors }, () => Object.assign(play, { east: closed })]
    expect((await played(play, [true])).result).toBe(
      'secondary/promote on west: 400 handed-over-not-claimed. No cluster serves: east has handed over or closed, and west has not taken over yet. If this lasts ten seconds, request the promotion of west again.',
    )
  })

  test('the command does not revoke a cluster that began to follow while the operator was confirming', async () => {
    const play: Play = { east: closed, west: primary, changes: [] }
    const { result, asked } = await played(play, [])
    expect([result, asked]).toEqual([
      expect.stringContaining('west serves; east does not follow it yet.'),
      [],
    ])
    const late: Play = { east: closed, west: primary, changes: [] }
    const again = await played(late, [() => joined(late)()])
    expect(again.asked).toEqual([])
    expect(again.result).toEqual([])
  })
})

describe('the command switch with a lost primary', () => {
  const plan = {
    goes_through: true,
    refused: '',
    warnings: [],
    steps: [{ step: 'handover', does: 'this step is skipped: the primary does not answer' }],
  }
  const lossy = { ...READY, mode: 'secondary', promotion: plan, promotion_with_force: plan }
  const silentFor95s = { ...lossy, lag: { primary: 'silent', last_contact_age_ms: 95_000 } }
  function lost(readiness: object = silentFor95s): Play {
    const play: Play = { east: primary, west: following, isEastLost: true, changes: [] }
    play.changes = [
      ['secondary/readiness', 200, { data: readiness }],
      ['secondary/promote', 200, {}, () => Object.assign(play, { west: primary })],
    ]
    return play
  }

  test('the command refuses, and names the possible loss and the option that accepts it', async () => {
    const { result, asked } = await played(lost(), [true, true])
    expect(asked).toEqual([])
    expect(result).toMatch(
      /If east is lost, --accept-loss west takes over\. This take-over may lose every write/,
    )
  })

  test('the command with --accept-loss names what is left out, and promotes by force', async () => {
    const { result, asked, said } = await played(lost(), [true], 'west')
    expect(result).toEqual(['promote'])
    expect(asked).toEqual(['west secondary/readiness', 'west secondary/promote'])
    expect(said.join('\n')).toMatch(
      /No switch is planned[\s\S]*left out: handover: the primary does not answer\n {3}! .*in the last 95 s/,
    )
  })

  test('the command with --accept-loss changes nothing without an answer to its question', async () => {
    const { result, asked } = await played(lost(), [false], 'west')
    expect([result, asked]).toEqual([
      expect.stringMatching(/^Stopped before the next step/),
      ['west secondary/readiness'],
    ])
  })

  test.each<[string, Play, string, RegExp]>([
    ['the option names another cluster', lost(), 'east', /must name the cluster that takes over: west/],
    [
      'the primary still answers the secondary',
      lost({ ...lossy, lag: READY.lag }),
      'west',
      /east still answers west/,
    ],
    [
      'the cluster would refuse',
      lost({ ...silentFor95s, promotion_with_force: { ...plan, goes_through: false, refused: 'no sync' } }),
      'west',
      /refuses a promotion by force: no sync/,
    ],
    ['the primary serves', { ...lost(), isEastLost: false }, 'west', /two primaries are worse than none/],
  ])('the command with --accept-loss promotes nothing if %s', async (_, play, option, why) => {
    const { result, asked } = await played(play, [true], option)
    expect(result).toMatch(why)
    expect(asked.join()).not.toContain('promote')
  })
})
