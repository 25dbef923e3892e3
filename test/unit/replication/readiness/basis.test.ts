import { describe, expect, test } from 'vitest'
import { describeReadinessBasis } from '../../../../shared/replication/readiness/basis.ts'

const NOW = 1_000_000
type Circumstances = Parameters<typeof describeReadinessBasis>[0]

const link = {
  name: 'op-1',
  secondaryId: 'west',
  primaryAddr: 'https://a.example',
  primaryAddrs: ['https://a.example'],
  primaryKey: 'key',
  ownKey: 'sealed' as never,
}
const record: Circumstances['record'] = { mode: 'secondary', epoch: '1', treeId: 'tree', link }
const contact = { at: NOW - 1000, epoch: '1-a' }
const refused = { at: NOW, code: 'unavailable', text: 'no answer', silentMs: 0 }
const plain: Circumstances = { record, contact, head: { mode: 'applying' } }
const basis = (more: Partial<Circumstances>, now = NOW) => describeReadinessBasis({ ...plain, ...more }, now)

describe('the basis of a readiness trial', () => {
  test.each<[string, Partial<Circumstances>]>([
    ['the mode', { record: { ...record, mode: 'primary' } }],
    ['the link, by update-primary', { record: { ...record, link: { ...link, name: 'op-2' } } }],
    ['the tree', { record: { ...record, treeId: 'other' } }],
    ['a new operation', { record: { ...record, operation: 'op-3' } }],
    ['a failed operation', { record: { ...record, failedOperation: 'op-3' } }],
    ['a first sync', { head: { mode: 'syncing' } }],
    ['the epoch of the primary', { contact: { ...contact, epoch: '2-b' } }],
    ['no contact', { contact: undefined }],
    ['an unanswered call', { contact: { ...contact, failedCall: refused } }],
    ['a contact of 30 s ago', { contact: { ...contact, at: NOW - 30_000 } }],
  ])('the basis changes with %s', (_what, more) => {
    expect(basis(more)).not.toBe(basis({}))
  })

  test('the basis changes when a primary has been silent for a minute, and when the primary refuses instead', () => {
    const withSilence = (silentMs: number) =>
      basis({ contact: { ...contact, failedCall: { ...refused, silentMs } } })
    expect(withSilence(10_000)).toBe(withSilence(59_999))
    expect(withSilence(60_000)).not.toBe(withSilence(59_999))
    expect(
      basis({ contact: { ...contact, failedCall: { ...refused, code: 'permission_denied' } } }),
    ).not.toBe(withSilence(0))
  })

  test('the basis stays the same while heartbeats succeed and the primary reports other addresses', () => {
    const later = { record: { ...record, link: { ...link, primaryAddrs: ['https://b.example'] } } }
    expect(basis({ ...later, contact: { ...contact, at: NOW + 8000 } }, NOW + 9000)).toBe(basis({}))
  })
})
