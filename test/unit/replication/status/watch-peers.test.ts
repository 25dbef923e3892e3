import { describe, expect, test } from 'vitest'
import {
  findPeerFaults,
  measurePeers,
  type PeerFacts,
} from '../../../../shared/replication/status/watch-peers.ts'

const NOW = 10_000_000
const ago = (seconds: number): number => NOW - seconds * 1000

const heartbeat = (seconds: number) => ({ at: ago(seconds) }) as never
const primary = (...heard: (number | undefined)[]): PeerFacts => ({
  record: { mode: 'primary' },
  secondaries: heard.map((seconds, index) => ({
    id: `s${index}`,
    ...(seconds === undefined ? {} : { heartbeat: heartbeat(seconds) }),
  })),
  now: NOW,
})
const secondary = (contact: PeerFacts['contact'], more: Partial<PeerFacts> = {}): PeerFacts => ({
  record: { mode: 'secondary', link: { id: 'w' } as never },
  secondaries: [],
  contact,
  applied: 100,
  now: NOW,
  ...more,
})
const heard = (seconds: number, frontier = 100) => ({ at: ago(seconds), frontier })

describe('warnings of a primary', () => {
  test('the primary reports secondaries without a heartbeat for a minute by name, and no secondary that has never connected', () => {
    expect(findPeerFaults(primary(59, 60, undefined, 3600))).toEqual([
      'the secondary s1 has sent no heartbeat for 60 s',
      'the secondary s3 has sent no heartbeat for 3600 s',
    ])
  })
})

describe('a secondary', () => {
  test.each<[string, PeerFacts, string[]]>([
    ['with all entries is not reported', secondary(heard(9)), []],
    [
      'more than five seconds behind is reported',
      secondary(heard(5, 107)),
      ['this secondary is 7 commits behind what the primary had 5 s ago'],
    ],
    ['less than five seconds behind is not reported', secondary(heard(4, 107)), []],
    ['during a sync is not reported', secondary(heard(9, 107), { applied: undefined }), []],
    ['with a silent primary is reported', secondary(heard(61)), ['the primary has not answered for 61 s']],
    [
      'that is refused is reported',
      secondary({ ...heard(70), failedCall: { at: NOW, code: 'permission_denied', text: 'revoked' } }),
      ['the primary refuses this secondary: revoked'],
    ],
    [
      'that cannot apply entries is reported',
      secondary(heard(1), { fault: 'x' }),
      ['this secondary cannot apply the primary’s journal entries: x'],
    ],
    ['without a first heartbeat is not reported', secondary(undefined), []],
    ['without a primary is not reported', { ...secondary(heard(3600)), record: { mode: 'secondary' } }, []],
    [
      'that has left its set is not reported',
      { ...secondary(heard(3600)), record: { mode: 'disabled' } as never },
      [],
    ],
  ])('%s', (_, facts, amiss) => expect(findPeerFaults(facts)).toEqual(amiss))
})

describe('replication metrics', () => {
  const journal = { last: 120, applied: 118 }
  const west = (seconds: number, seq: number) => ({
    id: `s${seq}`,
    heartbeat: { at: ago(seconds), seq } as never,
  })

  test('metrics of a primary describe its worst secondary, and its frontier', () => {
    const facts = { ...primary(), secondaries: [west(3, 120), west(12, 90), { id: 'never' }], journal }
    expect(measurePeers(facts)).toEqual({ HeartbeatAge: 12, Lag: 30, Frontier: 118 })
  })

  test('metrics of a secondary describe its lag at the last heartbeat', () => {
    expect(measurePeers(secondary(heard(4, 125), { journal }))).toEqual({
      HeartbeatAge: 4,
      Lag: 7,
      Frontier: 118,
    })
    expect(measurePeers(secondary(heard(4, 100), { journal }))).toMatchObject({ Lag: 0 })
  })

  test.each<[string, PeerFacts]>([
    ['has no secondary', { ...primary(), journal }],
    ['has a secondary that never connected', { ...primary(undefined), journal }],
    ['follows nobody', { ...secondary(heard(3600)), record: { mode: 'secondary' }, journal }],
    ['has no journal', secondary(heard(1))],
  ])('metrics are absent on a cluster that %s', (_, facts) => expect(measurePeers(facts)).toBeUndefined())
})
