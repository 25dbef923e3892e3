import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root } from '../../infra/checkout.ts'

describe('README', () => {
  const readme = readFileSync(`${root}README.md`, 'utf8')

  test('every path of "Where is the room of my change?" is there', () => {
    const table = readme.slice(readme.indexOf('## Where is the room'), readme.indexOf('## Commands'))
    const rows = table
      .split('\n')
      .filter(line => line.startsWith('|'))
      .slice(2)
    expect(rows.length).toBeGreaterThan(15)
    for (const row of rows) {
      const paths = [...row.matchAll(/`([\w./-]+)`/g)]
        .map(([, path = '']) => path)
        .filter(path => path.includes('/'))
      expect(paths.length, row).toBeGreaterThan(0)
      for (const path of paths) expect(existsSync(root + path), path).toBe(true)
    }
  })

  test('every command of its table, and every document it names, is there', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...readme.matchAll(/`npm (?:run )?([\w:]+)`/g)].map(([, name = '']) => name)
    expect(named.filter(name => !(name in scripts))).toEqual([])
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target)
    expect(links.filter(target => !existsSync(root + target))).toEqual([])
  })
})
