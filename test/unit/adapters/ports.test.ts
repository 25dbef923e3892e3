import { describe, expect, test } from 'vitest'
import { usesForChange } from '../../../shared/adapters/aws/guard.ts'
import { type Change, createItem, removeItem, setItemCounter } from '../../../shared/storage/changes.ts'
import { type Key, key } from '../../../shared/storage/kinds.ts'
import { token } from '../tokens/support.ts'

const put = (place: Key): Change => createItem(place, {} as never)
const stored = key('token', 'acc')

describe('usesForChange equals the grants of IAM', () => {
  test.each<[name: string, change: Change, uses: readonly string[]]>([
    ['storing a token', put(stored), ['mint']],
    ['storing a pointer to a child', put(key('child', 'acc', 'other')), ['mint']],
    ['storing a wrapped answer', put(key('wrapped', 'acc')), ['mint']],
    ['taking a use', setItemCounter({ ...stored, rev: 'r', data: token() }, 1), ['spend']],
    ['taking the last use, or revoking', removeItem(stored), ['spend', 'write']],
    ['removing a wrapped answer', removeItem(key('wrapped', 'acc')), ['spend', 'write']],
    ['storing the record', put(key('cluster')), ['key-factory', 'role']],
    ['storing the keyring', put(key('keyring')), ['key-factory']],
    ['storing the recovery key', put(key('recovery-key')), ['recovery']],
    ['removing the keyring', removeItem(key('keyring')), []],
    ['storing the record of a secondary', put(key('secondary', 'west')), ['link']],
    ['removing the record of a secondary', removeItem(key('secondary', 'west')), ['link']],
    ['storing the active puller', put(key('puller')), ['apply']],
    ['removing the active puller', removeItem(key('puller')), ['apply']],
    ['removing the record of diverging items', removeItem(key('diverging')), ['apply']],
    ['storing an attempt of a ceremony', put(key('ceremony')), ['ceremony']],
    ['removing an attempt of a ceremony, which also expires', removeItem(key('ceremony')), []],
    ['storing an operation token', put(key('operation-token')), ['ceremony']],
    ['removing an operation token', removeItem(key('operation-token')), ['operation-token']],
    ['storing another item', put(key('policy', 'p')), ['write']],
    ['removing another item', removeItem(key('tidy-run', 'm', 'x')), ['write']],
  ])('%s', (_, change, uses) => expect(usesForChange(change)).toEqual(uses))
})
