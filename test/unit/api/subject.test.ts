import { describe, expect, test } from 'vitest'
import { createKindListing, createMountKindListing } from '../../../shared/api/listing.ts'
import { deleteSubject, requireSubject, subjectKeyOf, subjectOf } from '../../../shared/api/subject.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { callWith } from '../../support/requests/call.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { mount } from '../tokens/support.ts'

const subjectKey = key('sts-role', 'auth_1', '111122223333')
const subject = item(subjectKey, { role: 'arn:aws:iam::111122223333:role/r', externalId: '' })
const there = callWith({ subjectKey, subject })
const absent = callWith({ subjectKey })

describe('the subject of an endpoint', () => {
  test("subjectKeyOf returns the row's key, whether the item exists or not", () => {
    for (const call of [there, absent]) expect(subjectKeyOf(call, 'sts-role')).toBe(subjectKey)
  })

  test('subjectOf returns the stored item or undefined, requireSubject throws not_found', () => {
    expect(subjectOf(there, 'sts-role')).toBe(subject)
    expect(requireSubject(there, 'sts-role')).toBe(subject)
    expect(subjectOf(absent, 'sts-role')).toBeUndefined()
    expect(() => requireSubject(absent, 'sts-role')).toThrow(expect.objectContaining({ code: 'not_found' }))
  })

  test('a subject of another kind is an internal error', () => {
    for (const call of [there, absent, callWith()])
      for (const read of [subjectKeyOf, subjectOf, requireSubject])
        expect(() => read(call, 'role')).toThrow('this endpoint’s item is not of kind role')
  })

  test('deleteSubject succeeds whether the item exists or not', () => {
    for (const call of [there, absent])
      expect(deleteSubject(call)).toEqual({
        answer: { kind: 'nothing' },
        changes: [{ kind: 'delete', key: subjectKey, expected: 'any' }],
      })
    expect(() => deleteSubject(callWith())).toThrow('deleting endpoint declares no item to delete')
  })
})

describe('listing items', () => {
  const role = (accessor: string, name: string) => item(key('role', accessor, name), {} as never)
  const entity = (id: string) => item(key('entity', id), {} as never)
  const items: Item[] = [role('auth_1', 'a'), role('auth_2', 'b'), role('auth_1', 'c'), entity('e')]
  const { store } = memoryStore(items)

  test('a listing of a mount contains its own items of one kind', async () => {
    const call = callWith<never>({ mount: mount({ accessor: 'auth_1' }), ports: { store } })
    expect((await createMountKindListing('role')(call)).answer).toEqual({ kind: 'keys', keys: ['a', 'c'] })
    expect((await createMountKindListing('sts-role')(call)).answer).toEqual({ kind: 'keys', keys: [] })
  })

  test('a listing outside mounts contains all items of the kind', async () => {
    const call = callWith<never>({ ports: { store } })
    expect((await createKindListing('entity')(call)).answer).toEqual({ kind: 'keys', keys: ['e'] })
  })
})
