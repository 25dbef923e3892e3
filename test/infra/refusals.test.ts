import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/** Where what replication and ceremonies refuse stands, one row for each: their tests hold the words of every row. */
const tables = [
  'shared/ceremony/refusals.ts',
  'shared/replication/manage/refusals.ts',
  'shared/replication/operation/faults.ts',
  'shared/replication/refusals.ts',
]

const files = ['shared/replication', 'shared/ceremony'].flatMap(folder =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .map(name => `${folder}/${name}`)
    .filter(file => file.endsWith('.ts')),
)

/** A refusal with a text of its own: neither of a broken invariant, whose text nobody is told, nor of a code that has one text. */
const REFUSAL =
  /\b(?:new ApiError\((?!\s*'(?:internal|not_initialised)')|invalid\(|refusal\(|new OperationFailed\()/g

const made = (file: string): number => [...readFileSync(root + file, 'utf8').matchAll(REFUSAL)].length

test('what replication and ceremonies refuse stands in their tables, and is made nowhere else', () => {
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter(file => made(file) > 0).sort()).toEqual(tables)
})
