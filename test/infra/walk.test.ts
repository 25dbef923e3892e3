import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root } from '../../infra/checkout.ts'

const textOf = (path: string): string => readFileSync(root + path, 'utf8')

interface Step {
  number: number
  file: string
  name: string
}

const ROW = /^\| (\d+) \| `([\w./-]+)` `(\w+)` \|/

/** The walks of a section: a table each, a step a row. */
function walksIn(section: string): Step[][] {
  const walks: Step[][] = []
  for (const [, number, file = '', name = ''] of section.matchAll(new RegExp(ROW, 'gm'))) {
    if (number === '1') walks.push([])
    walks.at(-1)?.push({ number: Number(number), file, name })
  }
  return walks
}

/** Functions opened, files they stand in, and how often the way leads back to a file that was left. */
function countsOf(walk: readonly Step[]): { stays: number; rooms: number; returns: number } {
  const seen = new Set<string>()
  let returns = 0
  for (const [index, { file }] of walk.entries()) {
    if (seen.has(file) && walk[index - 1]?.file !== file) returns += 1
    seen.add(file)
  }
  return { stays: walk.length, rooms: seen.size, returns }
}

const declares = (text: string, name: string): boolean =>
  new RegExp(`^(?:export )?(?:async )?(?:function|const) ${name}\\b`, 'm').test(text)

const uses = (text: string, name: string): boolean =>
  [...text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > (declares(text, name) ? 1 : 0)

const page = textOf('docs/architecture.md')
const start = page.indexOf('## An ec2 login')
const section = page.slice(start, page.indexOf('\n## ', start))
const [ec2 = [], iam = []] = walksIn(section)

describe('the walk of a login', () => {
  test('counts what it says it counts', () => {
    const stated = [...section.matchAll(/(\d+) functions in (\d+) files[^.]*?with (\d+) returns/g)].map(
      ([, stays, rooms, returns]) => ({
        stays: Number(stays),
        rooms: Number(rooms),
        returns: Number(returns),
      }),
    )
    const fromLogin = ec2.slice(ec2.findIndex(({ name }) => name === 'login'))
    expect(stated).toEqual([ec2, fromLogin, iam].map(countsOf))
    const { stays, rooms, returns } = countsOf(ec2)
    expect([stays <= 20, rooms <= 10, returns <= 5]).toEqual([true, true, true])
  })

  test.each([
    ['ec2', ec2],
    ['iam', iam],
  ])('%s: every function is where it is said to be, and is reached from a step before', (_, walk) => {
    expect(walk.map(({ number }) => number)).toEqual(walk.map((_, index) => index + 1))
    // the row of the endpoint table leads from the request to the login
    let before = textOf('shared/endpoints/login.ts')
    for (const { file, name } of walk) {
      expect(existsSync(root + file), file).toBe(true)
      const text = textOf(file)
      expect(declares(text, name), `${file} ${name}`).toBe(true)
      if (walk[0]?.name !== name) expect(uses(before, name), `a way to ${name}`).toBe(true)
      before += text
    }
  })

  test('every function that is named besides them is there', () => {
    const named = new Set([...section.matchAll(/`([a-z]\w+[A-Z]\w*)`/g)].map(([, name = '']) => name))
    const all = [...new Set([...ec2, ...iam].map(({ file }) => file))].map(textOf).join('\n')
    expect(named.size).toBeGreaterThan(20)
    expect([...named].filter(name => !new RegExp(`\\b${name}\\b`).test(all))).toEqual([])
  })
})
