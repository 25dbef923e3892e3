import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'

// Compares the rows of docs/look-up/unverified.md with the places that use a claim.

const PAGE = 'docs/look-up/unverified.md'
const OWN = 'test/infra/unverified.test.ts'
const read = (path: string): string => readFileSync(checkoutRoot + path, 'utf8')

const filesIn = (folder: string): string[] =>
  readdirSync(checkoutRoot + folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => /\.(?:md|ts|mjs)$/.test(path))

const files = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...['docs', 'shared', 'infra', 'functions', 'test'].flatMap(filesIn),
].filter(path => path !== PAGE && path !== OWN)

/** A claim of the page. `places` are the paths of the files that the row names. */
interface Row {
  id: string
  claim: string
  places: string[]
  check: string
  checked: string
}

const rows = read(PAGE)
  .split('\n')
  .filter(line => line.startsWith('| <a id='))
  .map((line): Row => {
    const [anchored = '', claim = '', places = '', check = '', checked = ''] = line.slice(2, -2).split(' | ')
    const [, anchor, id = ''] = /^<a id="([a-z0-9-]+)"><\/a>`([a-z0-9-]+)`$/.exec(anchored) ?? []
    expect(anchor, line).toBe(id)
    const links = [...places.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => join(dirname(PAGE), path))
    return { id, claim, places: links.sort(), check, checked }
  })

/** Returns the paths of the files that link to each id. */
function readPlaces(): ReadonlyMap<string, string[]> {
  const places = new Map<string, Set<string>>()
  for (const path of files)
    for (const [, id = ''] of read(path).matchAll(/\bunverified\.md#([\w-]+)/g))
      places.set(id, (places.get(id) ?? new Set()).add(path))
  return new Map([...places].map(([id, paths]) => [id, [...paths].sort()]))
}

const linking = readPlaces()

test('each row has its own id', () => {
  expect(rows.length).toBeGreaterThan(30)
  expect(new Set(rows.map(row => row.id)).size).toBe(rows.length)
})

test('every link to the page names a row, and every row has a link', () => {
  expect([...linking.keys()].sort()).toEqual(rows.map(row => row.id).sort())
})

test.each(rows)('the row $id names exactly the files that link to the row', ({ id, places }) => {
  expect(places).toEqual(linking.get(id) ?? [])
})

test.each(rows)('the row $id has a claim, a command and its result so far', ({ claim, check, checked }) => {
  expect(claim).not.toBe('')
  expect(checked).not.toBe('')
  expect(check).toMatch(
    /^`(?:aws [a-z0-9]+ [a-z-]+|cloud-auth (?:login|prove|status|switch)|curl|npx cdk|npm run) /,
  )
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const [, script] = /^`npm run ([\w:]+)/.exec(check) ?? []
  if (script !== undefined) expect(Object.keys(scripts)).toContain(script)
})

/** The test that shows the claim of a row in the emulated account: file and title. */
const shownByEmulator: Readonly<Record<string, readonly [file: string, title: string]>> = {
  link: ['long/pair.test.ts', 'a role that east writes gives both clusters the same new Merkle root'],
  pair: ['long/pair.test.ts', '`deploy:pair --join` makes west follow east over TLS'],
  wire: ['cluster.test.ts', "give a user's token, which renews and revokes itself"],
  'audit-copy': ['cluster.test.ts', 'the log subscription carries audit entries of logins to the audit log'],
  removal: [
    'cluster.test.ts',
    'with `deletionProtection` keeps the stack `data` and the logs, and a new deployment serves the same data',
  ],
}

describe('the emulated account is a substitute', () => {
  test('in exactly the rows that name a test', () => {
    const named = rows.filter(({ checked }) => checked.split(', ').includes('emulator'))
    expect(named.map(row => row.id).sort()).toEqual(Object.keys(shownByEmulator).sort())
  })

  test.each(Object.entries(shownByEmulator))('in the row %s, whose test exists', (_, [file, title]) => {
    const text = read(`test/deployed/${file}`)
    expect([`'${title}'`, `"${title}"`].filter(quoted => text.includes(quoted))).toHaveLength(1)
  })
})

/** Phrases of unproved claims, which belong to the page alone. */
const ANYWHERE = [/\b(?:measured|tried|tested|verified|was run|never run) on AWS\b/i]
const IN_PAGES = [
  ...ANYWHERE,
  /\bnot verified\b/i,
  /\[\?\]/,
  /\bnobody (?:has )?(?:tried|measured|knows|created|checked)\b/i,
  /\b(?:never|not yet) (?:tried|measured|tested)\b/i,
]
const isUnproved = (text: string, phrases: readonly RegExp[]): boolean =>
  phrases.some(phrase => phrase.test(text.replace(/\s*\n[\s*/]*/g, ' ')))

describe('unproved claims', () => {
  test.each([
    'Nobody has tried on AWS: paths with a final slash',
    'nothing was measured on AWS',
    'The wire was not tried\non AWS.',
    ' * was not tested\n * on AWS',
    '## Not verified',
    'Quota [?]',
    'That was never tried.',
  ])('%j is recognised', text => expect(isUnproved(text, IN_PAGES)).toBe(true))

  test('are only on the page', () => {
    const found = files.filter(path => isUnproved(read(path), path.endsWith('.md') ? IN_PAGES : ANYWHERE))
    expect(found).toEqual([])
  })
})
