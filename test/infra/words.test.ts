import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname
const read = (path: string): string => readFileSync(root + path, 'utf8')
const filesIn = (folder: string): string[] =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`)

/** Made from the link's messages, whose names stay. */
const isGenerated = (path: string): boolean => path.startsWith('shared/wire/gen/')
const replication = ['shared/journal', 'shared/link', 'shared/replication', 'shared/wire']
const sourcesOf = (folders: readonly string[]): string[] =>
  folders.flatMap(filesIn).filter(path => path.endsWith('.ts') && !isGenerated(path))

const TYPE = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm
const matchesOf = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name)

describe('the glossary', () => {
  const rows = read('docs/glossary.md')
    .split('\n')
    .filter(line => line.startsWith('| '))
    .map(line => line.split('|'))
  const named = rows.flatMap(([, , , types = '']) => matchesOf(types, /`(\w+)`/g))
  const exported = sourcesOf(replication).flatMap(path => matchesOf(read(path), TYPE))

  test('gives every exported type of replication its word', () => {
    expect(exported.length).toBeGreaterThan(100)
    expect(exported.filter(name => !named.includes(name))).toEqual([])
  })

  test('names no type that is not there, and none twice', () => {
    expect(named.filter((name, index) => !exported.includes(name) || named.indexOf(name) !== index)).toEqual(
      [],
    )
  })

  test('explains each word once, in a sentence', () => {
    const words = rows
      .map(([, word = '']) => word.trim())
      .filter(word => word !== 'word' && !/^-+$/.test(word))
    expect(words.length).toBeGreaterThan(60)
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([])
    expect(rows.filter(([, , meaning = '']) => meaning.trim().length < 7)).toEqual([])
  })
})

/**
 * Words that replication once had for itself. `name`: what no name in code, of a file or of a folder is, or has as a
 * part; `prose`: what no page and no title of a test says. Without it the word is a usual one in a sentence.
 */
const oldWords: readonly { now: string; name: RegExp; prose?: RegExp }[] = [
  { now: 'tree id', name: /\blife\b/, prose: /\bin (?:this|another) life\b/ },
  { now: 'journal entry', name: /\bcells?\b/, prose: /\bcells?\b/ },
  { now: 'fork point', name: /^cut$/, prose: /\bbeyond the cut\b/ },
  { now: 'diverged', name: /\bparted\b/, prose: /\bparted\b/ },
  { now: 'heartbeat', name: /\becho(?:es)?\b/ },
  { now: 'incarnation', name: /\bhold digits\b|^hold$/, prose: /<hold>|\bhigher hold\b/ },
  { now: 'successor', name: /\bheirs?\b/, prose: /\bheirs?\b/ },
  { now: 'unfinished sync', name: /\bdirty\b/ },
  { now: 'lineage', name: /^line$|\bof line\b|\bsame line\b/ },
  { now: 'reported', name: /^told$/ },
  { now: 'epoch at heartbeat', name: /\bheard in\b/ },
  { now: 'role change pending', name: /\bhands off\b/ },
  { now: 'prefetched', name: /^ahead$/ },
  { now: 'key factory', name: /\bgenesis\b/, prose: /\bgenesis\b/ },
  { now: 'fence others', name: /\bchase[ds]?\b/, prose: /\bchas(?:e[drs]?|ing)\b/ },
  { now: 'maintain', name: /\btend(?:s|ed|ing)?\b/, prose: /\btend(?:s|ed) (?:the )?journal|\bis tended\b/ },
  { now: 'take over', name: /\bclaim(?:s|ed)?\b/ },
  { now: 'backfill, detach', name: /\b(?:un)?stamp(?:s|ed|ing)?\b/, prose: /\bunstamp/ },
  {
    now: 'a verb',
    name: /^(?:storing|joined|vouched|admitted|begun|bounded|merged|passing|placed|standing)$/,
  },
  { now: 'what is wrong', name: /\b(?:tree grows|tree fills|calls meet|rest missing)\b/ },
]

/** A name in words: `treeId`, `tree-id` and `TREE_ID` are `tree id`. */
const inWords = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[-_./]/g, ' ')
    .toLowerCase()

/** Where names stay what they are: what is stored and what is sent. */
const isCodec = (path: string): boolean => path === 'shared/storage/stored-names.ts'

const EXPORTED = /^export (?:declare )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm
const MEMBER = /^ {2}(?:readonly )?(\w+)\??: /gm
const faultsOf = (path: string, names: readonly string[]): string[] =>
  names.flatMap(name =>
    oldWords
      .filter(({ name: old }) => old.test(inWords(name)))
      .map(({ now }) => `${path}: ${name} is called ${now}`),
  )

describe('no old word of replication is', () => {
  test('an exported name, or a member of an exported type', () => {
    const sources = sourcesOf([...replication, 'shared/adapters/aws/storage', 'shared/workers'])
    expect(sources.length).toBeGreaterThan(150)
    const found = sources
      .filter(path => !isCodec(path))
      .flatMap(path => {
        const text = read(path)
        const members = text
          .split(/^(?=export )/m)
          .filter(part => /^export (?:interface|type) /.test(part))
          .flatMap(part => matchesOf(part.split(/^\}/m)[0] ?? '', MEMBER))
        return faultsOf(path, [...matchesOf(text, EXPORTED), ...members])
      })
    expect(found).toEqual([])
  })

  test('the name by which a log tells an error: it is that of its class', () => {
    const ERROR = /^(?:export )?class (\w+) extends Error \{[\s\S]*?\bname = '(\w+)'/gm
    const named = sourcesOf(['shared', 'infra']).flatMap(path => [...read(path).matchAll(ERROR)])
    expect(named.length).toBeGreaterThan(6)
    expect(named.filter(([, name, inTheLog]) => name !== inTheLog).map(([, name]) => name)).toEqual([])
    expect(named.flatMap(([, name = '']) => faultsOf('the log', [name]))).toEqual([])
  })

  test('the name of a file or a folder', () => {
    const paths = [
      ...replication,
      'shared/adapters/aws/storage',
      'infra/local/provider',
      'docs',
      ...['unit/journal', 'unit/link', 'unit/replication', 'unit/adapters', 'support', 'provider'].map(
        one => `test/${one}`,
      ),
      'test/integration/alone/replication',
    ].flatMap(filesIn)
    expect(paths.flatMap(path => faultsOf(path, [path.split('/').at(-1)?.split('.')[0] ?? '']))).toEqual([])
    expect(paths.filter(path => path.includes('provider/drills'))).toEqual([])
  })

  const saying = (path: string, text: string): string[] =>
    oldWords.flatMap(({ prose, now }) =>
      prose?.test(text) ? [`${path}: ${prose.exec(text)?.[0]} is called ${now}`] : [],
    )
  const withoutCode = (text: string): string =>
    text.replace(/^```[\s\S]*?^```/gm, '').replace(/`(?:Cells|Echo|claim)`/g, '')

  test('in a page', () => {
    const pages = filesIn('docs').filter(path => path.endsWith('.md'))
    expect(pages.length).toBeGreaterThan(30)
    expect(['README.md', ...pages].flatMap(path => saying(path, withoutCode(read(path))))).toEqual([])
  })

  test('in the title of a test', () => {
    const TITLE = /\b(?:test|describe)(?:\.\w+)*(?:<[^>]*>)?\(\s*(['"`])(.*?)\1,/gs
    const found = sourcesOf(['test'])
      .filter(path => path.endsWith('.test.ts') && path !== 'test/infra/words.test.ts')
      .flatMap(path => [...read(path).matchAll(TITLE)].flatMap(([, , title = '']) => saying(path, title)))
    expect(found).toEqual([])
  })

  test.each(oldWords)('what is now called $now', ({ name, now }) => {
    expect(name.test(now)).toBe(false)
  })
})
