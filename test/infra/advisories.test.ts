import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname
const read = (path: string) => readFileSync(root + path, 'utf8')

const NUMBER = /CVE-\d{4}-\d+|HCSEC-\d{4}-\d+|GHSA(?:-[0-9a-z]{4}){3}|GH-\d+/g
const numbersIn = (text: string): string[] => text.match(NUMBER) ?? []

const [tried = '', untried = ''] = read('docs/look-up/advisories.md').split('\n## Without a test\n')
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter(line => /^\| (?!Advisory|Year)/.test(line))
    .map(line => {
      const [first = '', wrong = '', last = ''] = line.slice(2, -2).split(' | ')
      return { first, wrong, last, numbers: numbersIn(first) }
    })
const rows = rowsOf(tried)
const others = rowsOf(untried)
const numbered = rows.filter(row => row.numbers.length > 0)
const unnumbered = rows.filter(row => row.numbers.length === 0)

/** The CVE numbers in the tests. This test file itself does not count, because it only checks pages. */
const tested = new Set(
  readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts') && !name.startsWith('infra/advisories'))
    .flatMap(name => numbersIn(read(`test/${name}`))),
)

test('the table in docs/look-up/advisories.md is parsed', () => {
  expect(numbered.length).toBeGreaterThan(40)
  const numbers = [...rows, ...others].flatMap(row => row.numbers)
  expect(new Set(numbers).size, 'each number once').toBe(numbers.length)
})

test.each(others)('an advisory without a test has a reason: $first', ({ numbers, wrong, last }) => {
  expect(numbers).not.toEqual([])
  expect([wrong, last]).not.toContain('')
})

test.each(numbered)('a test mentions each number of $first', ({ numbers, wrong }) => {
  expect(wrong).not.toBe('')
  expect(numbers.filter(number => !tested.has(number))).toEqual([])
})

test.each(unnumbered)(
  'for the row $first without an advisory number, docs/look-up/advisories.md names an existing test',
  ({ first, wrong, last }) => {
    expect(first).toMatch(/^\d{4}$/)
    expect(wrong).not.toBe('')
    const files = [...last.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
    expect(files).not.toEqual([])
    for (const file of files) expect(existsSync(root + file), file).toBe(true)
  },
)
