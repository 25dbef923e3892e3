import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'

describe('docs/do/change-code.md', () => {
  const page = readFileSync(`${checkoutRoot}docs/do/change-code.md`, 'utf8')

  test('names only existing paths in "Where a change begins"', () => {
    const from = page.indexOf('## Where a change begins')
    const table = page.slice(from, page.indexOf('\n## ', from + 1))
    const rows = table
      .split('\n')
      .filter(line => line.startsWith('|'))
      .slice(2)
    expect(rows).toHaveLength(10)
    for (const row of rows) {
      const paths = [...row.matchAll(/`([\w./-]+)`/g)]
        .map(([, path = '']) => path)
        .filter(path => path.includes('/'))
      expect(paths.length, row).toBeGreaterThan(0)
      for (const path of paths) expect(existsSync(checkoutRoot + path), path).toBe(true)
    }
  })
})

describe('README', () => {
  const readme = readFileSync(`${checkoutRoot}README.md`, 'utf8')

  test('names only existing commands and pages', () => {
    const { scripts } = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...readme.matchAll(/`npm (?:run )?([\w:]+)`/g)].map(([, name = '']) => name)
    expect(named.filter(name => !(name in scripts))).toEqual([])
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target)
    expect(links.filter(target => !existsSync(checkoutRoot + target))).toEqual([])
  })

  test('has at most 800 words, and both commands within its first 30 lines', () => {
    expect(readme.split(/\s+/).length).toBeLessThanOrEqual(800)
    const top = readme.split('\n').slice(0, 30)
    expect(top).toEqual(expect.arrayContaining(['$ npm start', '$ npm test']))
  })
})
