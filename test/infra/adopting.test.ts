import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { oldestNode } from '../../infra/package/requirements.ts'
import { readSettings } from '../../infra/settings.ts'

// Compares docs/understand/adopting.md with the files that are its evidence.

const read = (path: string): string => readFileSync(checkoutRoot + path, 'utf8')
const page = read('docs/understand/adopting.md')
const rows = new Map(
  page
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| question'))
    .map(line => {
      const [question = '', answer = '', evidence = ''] = line.slice(2, -2).split(' | ')
      return [question, { answer, evidence }]
    }),
)
const answerTo = (question: string): string => rows.get(question)?.answer ?? ''
const manifest = JSON.parse(read('package.json')) as {
  license: string
  version: string
  engines: { node: string }
}

test('the page answers every question in at most 500 words', () => {
  expect([...rows.keys()]).toEqual([
    'licence',
    'version',
    'provenance',
    'SBOM',
    'vulnerabilities',
    'threat model',
    'support window',
    'upgrade policy',
    'costs',
    'limits',
    'removal',
    'data protection',
    'measurements',
    'OpenSSF baseline, level 1',
  ])
  expect(page.split(/\s+/).length).toBeLessThanOrEqual(500)
})

test.each([...rows])('the answer to "%s" has its evidence', (_, { answer, evidence }) => {
  expect(answer).not.toBe('')
  expect(evidence).toMatch(/\]\([^)]+\)/)
})

test('the licence is the licence of package.json and LICENSE', () => {
  expect(answerTo('licence')).toBe(manifest.license)
  expect(read('LICENSE').split('\n')[0]).toBe(`${manifest.license} License`)
})

test('the versions are those of package.json and of the page on the command', () => {
  const [, checkout, command, construct] =
    /checkout needs Node (\d+), the command Node (\d+), the construct Node (\d+)/.exec(answerTo('version')) ??
    []
  expect(answerTo('version')).toContain(`${manifest.version}, not released`)
  expect({ checkout, command, construct }).toEqual(
    Object.fromEntries(Object.entries(oldestNode).map(([part, node]) => [part, String(node)])),
  )
  expect(rows.get('version')?.evidence).toContain(
    `on Node ${oldestNode.command}.0.0 and ${oldestNode.construct}.0.0`,
  )
  expect(manifest.engines.node).toBe(`>=${checkout}`)
  expect(read('docs/look-up/command.md')).toContain(`Node ${command} or later`)
})

describe('the page repeats numbers of its evidence', () => {
  test.each([
    ['costs', '20.38', 'docs/look-up/costs.md'],
    ['costs', '7.55', 'docs/look-up/costs.md'],
    ['limits', '700', 'docs/look-up/limits.md'],
    ['limits', '10^7', 'docs/look-up/limits.md'],
    ['vulnerabilities', 'three working days', 'SECURITY.md'],
  ])('%s: %s', (question, number, evidence) => {
    expect(answerTo(question)).toContain(number)
    expect(read(evidence)).toContain(number)
  })

  test('audit entries end after the default of `auditRetentionDays`', () => {
    expect(answerTo('data protection')).toContain(
      `${readSettings({ stage: 'test' }).auditRetentionDays} days`,
    )
  })
})

test('the repository has no binary files (OpenSSF baseline QA-05.01, QA-05.02)', () => {
  expect(answerTo('OpenSSF baseline, level 1')).toContain('QA-05.01 and QA-05.02')
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: checkoutRoot, encoding: 'utf8' }).split('\0')
  expect(files.length).toBeGreaterThan(500)
  const isBinary = (path: string): boolean => readFileSync(checkoutRoot + path).includes(0)
  expect(files.filter(path => path !== '' && isBinary(path))).toEqual([])
})

test('the lock file has a hash of every package (OpenSSF baseline QA-02.01)', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { integrity?: string; inBundle?: boolean }>
  }
  const { '': _, ...dependencies } = packages
  expect(Object.keys(dependencies).length).toBeGreaterThan(100)
  // a package in a bundle is a part of the package that bundles it
  const hasHash = ({ integrity, inBundle }: { integrity?: string; inBundle?: boolean }) =>
    inBundle === true || integrity?.startsWith('sha512-')
  expect(Object.entries(dependencies).flatMap(([name, one]) => (hasHash(one) ? [] : [name]))).toEqual([])
})
