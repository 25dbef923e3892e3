import { describe, expect, test } from 'vitest'
import { usesForChange } from '../../../shared/adapters/aws/guard.ts'
import { type Change, countDown, create, remove } from '../../../shared/storage/changes.ts'
import { type Key, key } from '../../../shared/storage/kinds.ts'
import { token } from '../tokens/support.ts'

const put = (place: Key): Change => create(place, {} as never)
const stored = key('token', 'acc')

describe('usesFor equals the grants of IAM', () => {
  test.each<[name: string, change: Change, uses: readonly string[]]>([
    ['storing a token', put(stored), ['mint']],
    ['storing a pointer to a child', put(key('child', 'acc', 'other')), ['mint']],
    ['storing a wrapped answer', put(key('wrapped', 'acc')), ['mint']],
    ['taking a use', countDown({ ...stored, rev: 'r', data: token() }, 1), ['spend']],
    ['taking the last use, or revoking', remove(stored), ['spend', 'write']],
    ['removing a wrapped answer', remove(key('wrapped', 'acc')), ['spend', 'write']],
    ['storing the record', put(key('cluster')), ['key-factory', 'role']],
    ['storing the keyring', put(key('keyring')), ['key-factory']],
    ['storing the recovery key', put(key('recovery-key')), ['recovery']],
    ['removing the keyring', remove(key('keyring')), []],
    ['storing the record of a secondary', put(key('secondary', 'west')), ['link']],
    ['removing the record of a secondary', remove(key('secondary', 'west')), ['link']],
    ['storing the active puller', put(key('puller')), ['apply']],
    ['removing the active puller', remove(key('puller')), ['apply']],
    ['removing the record of diverging items', remove(key('diverging')), ['apply']],
    ['storing an attempt of a ceremony', put(key('ceremony')), ['ceremony']],
    ['removing an attempt of a ceremony, which also expires', remove(key('ceremony')), []],
    ['storing an operation token', put(key('operation-token')), ['ceremony']],
    ['removing an operation token', remove(key('operation-token')), ['operation-token']],
    ['storing another item', put(key('policy', 'p')), ['write']],
    ['removing another item', remove(key('tidy-run', 'm', 'x')), ['write']],
  ])('%s', (_, change, uses) => expect(usesForChange(change)).toEqual(uses))
})
