import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

const EARLY_EXIT = [
  /[!=]==?\s*[\w.?]*\breveal\(\)/,
  /\breveal\(\)\s*[!=]==?/,
  /\breveal\(\)\.(startsWith|endsWith|includes|indexOf|localeCompare)\b/,
  /[!=]==?\s*(tokenHashOf|hashOf|macOf|sha256)\(/,
  /\b(tokenHashOf|hashOf|macOf|sha256)\([^()]*\)\s*[!=]==?/,
]
const exitsEarly = (line: string): boolean => EARLY_EXIT.some(pattern => pattern.test(line))

test.each([
  'if (asked === own.reveal()) x()',
  'own.reveal() !== asked',
  'own.reveal().startsWith(asked)',
  'if (item.hash === tokenHashOf(asked)) x()',
  'return tokenHashOf(asked) === item.hash',
])('the check finds a comparison that stops at the first difference: %s', line =>
  expect(exitsEarly(line)).toBe(true),
)

test('secrets, hashes and MACs are compared in constant time only (GHSA-34fc-gh42-pj53, CVE-2026-63132)', () => {
  const files = readdirSync(`${root}shared`, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts'),
  )
  expect(files.length).toBeGreaterThan(100)
  const found = files.flatMap(name =>
    readFileSync(`${root}shared/${name}`, 'utf8')
      .split('\n')
      .filter(exitsEarly)
      .map(line => `${name}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})
