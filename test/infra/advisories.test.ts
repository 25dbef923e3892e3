import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname
const read = (path: string) => readFileSync(root + path, 'utf8')

const NUMBER = /CVE-\d{4}-\d+|HCSEC-\d{4}-\d+|GHSA(?:-[0-9a-z]{4}){3}|GH-\d+/g
const numbersIn = (text: string): string[] => text.match(NUMBER) ?? []

/** The test of the rows about missing features, which name no test. */
const ABSENT = '`test/integration/advisories/absent.test.ts`'
const [tried = '', untried = ''] = read('docs/look-up/advisories.md').split('\n## Without a test\n')
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| Advisory'))
    .map(line => {
      const [advisories = '', wrong = '', last = ABSENT] = line.slice(2, -2).split(' | ')
      return { advisories, wrong, last, files: [...last.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path) }
    })
const rows = rowsOf(tried)
const others = rowsOf(untried)

test('the table in docs/look-up/advisories.md is parsed', () => {
  expect(rows.length).toBeGreaterThan(40)
  const numbers = [...rows, ...others].flatMap(row => numbersIn(row.advisories))
  expect(new Set(numbers).size, 'each number once').toBe(numbers.length)
})

test.each(others)(
  'an advisory without a test has a reason: $advisories',
  ({ advisories, wrong, last, files }) => {
    expect(numbersIn(advisories)).not.toEqual([])
    expect([wrong, last]).not.toContain('')
    expect(files).toEqual([])
  },
)

test.each(rows)(
  'the tests that the row of $advisories names exist and mention it',
  ({ advisories, wrong, files }) => {
    expect(wrong).not.toBe('')
    expect(files).not.toEqual([])
    for (const file of files) expect(existsSync(root + file), file).toBe(true)
    const numbers = numbersIn(advisories)
    if (numbers.length === 0) expect(advisories).toMatch(/^no number \(\d{4}\)$/)
    const titles = files.map(read)
    for (const number of numbers) expect(titles.join('\n')).toContain(number)
    if (numbers.length > 0)
      for (const text of titles) expect(numbers.some(number => text.includes(number))).toBe(true)
  },
)
