import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { encryptOwnLinkKey, renewSetMembership } from '../../../shared/link/admin/keys.ts'
import {
  addAdmissionToMembership,
  addTakeOverToMembership,
  addVouchersToMembership,
  type NewAdmission,
} from '../../../shared/link/membership.ts'
import { generateLinkKeyPairs, linkPublicKeysOf, parseLinkKeyPairs } from '../../../shared/link/pair.ts'
import { isStatementSignedBy } from '../../../shared/link/statements.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { MembershipStatement, SetMembership } from '../../../shared/model/link.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { pair } from '../../builders/link.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

const statement = (signature: string, more: Partial<MembershipStatement> = {}): MembershipStatement => ({
  set: 'a set',
  issuer: 'east',
  subject: 'west',
  key: 'k',
  epoch: '000003.aaaaaaaaaaaa',
  signature,
  ...more,
})
const admission = (more: Partial<NewAdmission> = {}): NewAdmission => ({
  primaryKey: 'the key',
  statement: statement('new'),
  chain: [statement('of east')],
  addresses: ['b'],
  ...more,
})

describe('the membership of a cluster', () => {
  test('after an admission the membership has the issuer, the statements that lead to the issuer, and the earlier statements', () => {
    const before: SetMembership = { statements: [statement('old'), statement('of east')], addresses: ['a'] }
    const after = addAdmissionToMembership(before, admission())
    expect(after.statements.map(one => one.signature)).toEqual(['old', 'of east', 'new'])
    expect(after.addresses).toEqual(['a', 'b'])
    expect(after.issuer).toEqual({ id: 'east', key: 'the key', epoch: '000003.aaaaaaaaaaaa' })
    expect(addAdmissionToMembership(undefined, admission()).statements.map(one => one.signature)).toEqual([
      'of east',
      'new',
    ])
  })

  test('after a take-over the membership has a statement by the old key about the new key, and the same issuer', () => {
    const [old, next] = [pair(), pair()]
    const claim = { set: 'a set', id: 'west', epoch: '000004.bbbbbbbbbbbb', old, next }
    const { statements, issuer, addresses } = addTakeOverToMembership(
      addAdmissionToMembership(undefined, admission()),
      claim,
      ['c', ''],
    )
    const own = statements.at(-1)
    expect(own).toMatchObject({ issuer: 'west', subject: 'west', key: next.keys.signing.toString('base64') })
    expect(own && isStatementSignedBy(old.keys.signing, own)).toBe(true)
    expect(issuer?.id).toBe('east')
    expect(addresses).toEqual(['b', 'c'])
  })

  test('the membership keeps the newest statements and the oldest addresses at its limits', () => {
    const many = Array.from({ length: 300 }, (_, at) => statement(`s${at}`))
    const { statements } = addVouchersToMembership(undefined, { vouchers: many })
    expect([statements.length, statements.at(-1)?.signature]).toEqual([256, 's299'])
    const addresses = Array.from({ length: 40 }, (_, at) => `https://${at}.example`)
    const known = addVouchersToMembership(
      { statements: [], addresses: ['first'] },
      { addresses: [...addresses, 'x'.repeat(3000)] },
    )
    expect([known.addresses.length, known.addresses[0]]).toEqual([32, 'first'])
    expect(addVouchersToMembership(undefined, { addresses: ['x'.repeat(3000)] }).addresses).toEqual([])
  })
})

test('a take-over makes a new link key, encrypted for the record, with a statement by the old key', async () => {
  const cipher = {
    encrypt: async (_: unknown, __: string, text: string) => `sealed ${text}` as never,
    decrypt: async (_: unknown, __: string, text: string) => new Secret(text.slice(7)),
  }
  const text = generateLinkKeyPairs(randomBytes)
  const id = randomUUID()
  const link = {
    secondaryId: 'west',
    primaryAddr: 'https://east',
    primaryAddrs: ['https://other'],
    primaryKey: 'x',
  }
  const record = {
    id,
    set: 'a set',
    link: { ...link, ownKey: await encryptOwnLinkKey(text, cipher) },
  } as unknown as ClusterRecord
  const place = key('member', id)
  const stored = { ...place, rev: 'r1', data: addAdmissionToMembership(undefined, admission()) }
  const ports = (item?: Item) =>
    ({ store: memoryStore(item ? [item] : []).store, cipher, entropy: { bytes: randomBytes } }) as never
  const got = await renewSetMembership(ports(stored), record, '000004.bbbbbbbbbbbb')
  expect(got.link).toMatchObject({ secondaryId: '', primaryAddr: '', primaryAddrs: [], primaryKey: '' })
  const next = linkPublicKeysOf(parseLinkKeyPairs(got.link.ownKey.slice(7)))
  expect(got.member).toMatchObject({ item: place, if: { rev: 'r1' } })
  const { put } = got.member as unknown as { put: { rev: string; data: SetMembership } }
  expect(put.data.addresses).toEqual(['b', 'https://other', 'https://east'])
  const own = put.data.statements.at(-1)
  expect(own?.key).toBe(next.signing.toString('base64'))
  expect(own && isStatementSignedBy(linkPublicKeysOf(parseLinkKeyPairs(text)).signing, own)).toBe(true)
  expect(await renewSetMembership(ports(undefined), record, 'e')).toMatchObject({ member: { if: 'absent' } })
  await expect(renewSetMembership(ports(undefined), { id } as ClusterRecord, 'e')).rejects.toThrow(
    'only a member of a DR set',
  )
})
