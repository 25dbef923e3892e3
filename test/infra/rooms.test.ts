import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'

const page = readFileSync(`${checkoutRoot}docs/do/change-code.md`, 'utf8')
const IMPORT = /(?:from|import) '(\.[^']+)'/g

/** Returns the subfolders of a folder as the page lists them, from top to bottom. */
function roomsOf(folder: string): string[] {
  const [, table = ''] = page.split(`| \`${folder}/\` | what is in it |\n|---|---|\n`)
  const [rows = ''] = table.split('\n\n')
  return [...rows.matchAll(/^\| `([\w-]+)\/`/gm)].map(([, room = '']) => room)
}

const filesOf = (folder: string): string[] =>
  readdirSync(checkoutRoot + folder, { recursive: true, encoding: 'utf8' }).filter(name =>
    /\.(ts|mjs)$/.test(name),
  )
const roomOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : '')

describe.each([
  ['infra/local', ['main.mjs']],
  ['test/support', []],
])('the folder %s', (folder, outside) => {
  const rooms = roomsOf(folder)
  const files = filesOf(folder)

  test('keeps each file in a subfolder that docs/do/change-code.md lists, and has no empty subfolder', () => {
    expect(rooms.length).toBeGreaterThan(5)
    expect(files.filter(path => roomOf(path) === '')).toEqual(outside)
    expect(new Set(files.map(roomOf).filter(Boolean))).toEqual(new Set(rooms))
  })

  test('imports only from subfolders further down', () => {
    const arrows = files.flatMap(path =>
      [...readFileSync(`${checkoutRoot}${folder}/${path}`, 'utf8').matchAll(IMPORT)]
        .map(([, target = '']) => posix.join(posix.dirname(path), target))
        .filter(target => !target.startsWith('../') && roomOf(path) !== '')
        .map(target => ({ path, target })),
    )
    expect(arrows.length).toBeGreaterThan(50)
    const up = arrows.filter(
      ({ path, target }) => rooms.indexOf(roomOf(path)) > rooms.indexOf(roomOf(target)),
    )
    expect(up.map(({ path, target }) => `${path} -> ${target}`)).toEqual([])
  })
})
