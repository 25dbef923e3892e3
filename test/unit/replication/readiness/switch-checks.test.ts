import { describe, expect, test } from 'vitest'
import type { StoredHeartbeat } from '../../../../shared/model/link.ts'
import {
  checkPlannedSwitch,
  findSuccessorFault,
  type SuccessorFacts,
  type SwitchFacts,
} from '../../../../shared/replication/readiness/switch-checks.ts'

const NOW = Date.UTC(2026, 10, 22, 12)
const EPOCH = '000001.aaaaaaaaaaaa'
const contact: StoredHeartbeat = {
  at: NOW - 5000,
  roundTripMs: 3,
  skewMs: 0,
  epoch: EPOCH,
  seq: 90,
  state: 'stream-wals',
  format: 1,
}
const west: SuccessorFacts = { id: 'west', heartbeat: contact, lag: 0 }
const fine: SwitchFacts = {
  head: { mode: 'writing', epoch: EPOCH, last: 100 },
  built: true,
  keyring: { opened: 3, failed: [] },
  secondaries: [west],
}
const inTheWay = (parts: Partial<SwitchFacts>) =>
  checkPlannedSwitch({ ...fine, ...parts }, NOW).flatMap(({ name, text }) =>
    text === undefined ? [] : [[name, text]],
  )

test('a switch with a secondary that follows has no obstacle', () => {
  expect(inTheWay({})).toEqual([])
})

describe('obstacles of a planned switch', () => {
  test.each<[name: string, parts: Partial<SwitchFacts>, text: RegExp]>([
    ['journal', { head: { mode: 'closed', epoch: EPOCH, last: 100 } }, /has ended/],
    ['tree', { built: false }, /being built/],
    ['keyring', { keyring: { opened: 0, failed: ['ownKey'] } }, /ownKey/],
    [
      'keyring',
      { keyring: { opened: 0, failed: [] } },
      /does not open: .*KMS key is enabled, and that this cluster may use the key/,
    ],
    ['keyring', { keyring: { opened: 0, failed: ['KMS: DisabledException'] } }, /\(KMS: DisabledException\)/],
    ['keyring', { keyring: { opened: 2, failed: ['secretKey of term 1'] } }, /secretKey of term 1/],
    ['secondaries', { secondaries: [] }, /this cluster knows no secondary/],
    ['secondaries', { secondaries: [{ id: 'west', lag: 0 }] }, /west: the secondary has never sent/],
  ])('%s: %j', (name, parts, text) => {
    expect(inTheWay(parts)).toEqual([[name, expect.stringMatching(text)]])
  })

  test('one secondary that can take over is enough for a planned switch', () => {
    expect(inTheWay({ secondaries: [{ id: 'new', lag: 0 }, west] })).toEqual([])
  })
})

describe('a secondary that cannot take over', () => {
  test.each<[Partial<SuccessorFacts>, RegExp]>([
    [{ heartbeat: { ...contact, at: NOW - 30_000 } }, /30 s ago/],
    [{ heartbeat: { ...contact, state: 'merkle-sync' } }, /merkle-sync/],
    [{ heartbeat: { ...contact, epoch: '000000.bbbbbbbbbbbb' } }, /000000.*000001/],
    [{ lag: 5001 }, /5 s behind/],
  ])('a secondary cannot take over with %j', (parts, text) => {
    expect(findSuccessorFault({ ...west, ...parts }, { epoch: EPOCH }, NOW)).toMatch(text)
  })

  test('a secondary with a lag of 5 s, or a heartbeat 29 s ago, can take over', () => {
    const parts = { lag: 5000, heartbeat: { ...contact, at: NOW - 29_999 } }
    expect(findSuccessorFault({ ...west, ...parts }, { epoch: EPOCH }, NOW)).toBe('')
  })
})
