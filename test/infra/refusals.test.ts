import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/**
 * The tables of errors of replication, journal, link and ceremonies. Tests of these tables check the text of
 * every row.
 */
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

/**
 * Matches an error with its own text, except errors of broken invariants and codes with one fixed
 * text.
 */
const REFUSAL =
  /\b(?:new ApiError\((?!\s*'(?:internal|not_initialised)')|invalidRequestError\(|createApiError\(|declareError\(|createRefusal\(|refused\(|new OperationFailed\()/

const made = (files: readonly string[], what: RegExp) =>
  files.filter(file => what.test(readFileSync(root + file, 'utf8'))).sort()

test('errors of replication, journal, link and ceremonies are defined only in their tables', () => {
  const files = filesIn('shared/replication', 'shared/journal', 'shared/link', 'shared/ceremony')
  expect(files.length).toBeGreaterThan(130)
  expect(made(files, REFUSAL)).toEqual(tables)
})

test("errors of the link are defined only in the link's error table, and the calling cluster recreates them", () => {
  const files = filesIn('shared', 'functions', 'infra')
  expect(made(files, /new LinkRefused\(/)).toEqual(['shared/link/call.ts', 'shared/link/refusals.ts'])
})
