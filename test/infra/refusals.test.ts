import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/** Where what replication, the journal, the link and ceremonies refuse stands, one row for each: their tests hold the words of every row. */
const tables = [
  'shared/ceremony/refusals.ts',
  'shared/ceremony/rekey-refusals.ts',
  'shared/journal/refusals.ts',
  'shared/link/refusals.ts',
  'shared/replication/operation/faults.ts',
  'shared/replication/operation/refusals.ts',
]

const filesIn = (...folders: string[]) =>
  folders.flatMap(folder =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
      .map(name => `${folder}/${name}`)
      .filter(file => file.endsWith('.ts')),
  )

/** A refusal with a text of its own: neither of a broken invariant, whose text nobody is told, nor of a code that has one text. */
const REFUSAL =
  /\b(?:new ApiError\((?!\s*'(?:internal|not_initialised)')|invalid\(|refused\(|refusal\(|new OperationFailed\()/

const made = (files: readonly string[], what: RegExp) =>
  files.filter(file => what.test(readFileSync(root + file, 'utf8'))).sort()

test('what replication, the journal, the link and ceremonies refuse stands in their tables, and is made nowhere else', () => {
  const files = filesIn('shared/replication', 'shared/journal', 'shared/link', 'shared/ceremony')
  expect(files.length).toBeGreaterThan(130)
  expect(made(files, REFUSAL)).toEqual(tables)
})

test('what one cluster refuses another stands in the table of the link; the one that asks makes an error of the answer', () => {
  const files = filesIn('shared', 'functions', 'infra')
  expect(made(files, /new LinkRefused\(/)).toEqual(['shared/link/call.ts', 'shared/link/refusals.ts'])
})
