import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname
const own = 'test/infra/references.test.ts'
const read = (path: string) => readFileSync(root + path, 'utf8')

const filesIn = (folder: string, ends: RegExp): string[] =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => ends.test(path) && path !== own && statSync(root + path).isFile())
    .sort()

const sources = ['shared', 'infra', 'functions', 'test'].flatMap(folder => filesIn(folder, /\.(?:ts|mjs)$/))
const pages = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...['docs', 'shared', 'infra', 'test'].flatMap(folder => filesIn(folder, /\.md$/)),
]

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '')

/** Returns the anchors of a page: those that its headings create, and those of its elements `<a id="…">`. */
function anchorsOf(text: string): string[] {
  const headings = withoutCode(text).match(/^#+ .*$/gm) ?? []
  const elements = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  return headings
    .map(line =>
      line
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/ /g, '-'),
    )
    .concat(elements)
}

/** Returns why a reference is broken, or undefined when it is valid. */
function faultOf(reference: string, from: string): string | undefined {
  const [file = '', anchor] = reference.split('#')
  const path = file === '' ? from : normalize(file)
  if (!existsSync(root + path)) return `${path} is not there`
  return anchor === undefined || anchorsOf(read(path)).includes(anchor)
    ? undefined
    : `${path} has no #${anchor}`
}

const OFFICIAL = ['docs.aws.amazon.com', 'www.rfc-editor.org', 'smithy.io']

function seeFault(target: string): string | undefined {
  if (!target.startsWith('https://')) return faultOf(target, own)
  const url = new URL(target)
  return OFFICIAL.includes(url.hostname) ? undefined : `${url.hostname} is not where official documents are`
}

/** Returns the target of each `@see` without trailing punctuation. */
const seesIn = (text: string): string[] =>
  [...text.matchAll(/@see\s+(\S+)/g)].map(([, target = '']) => target.replace(/[.,;:]+$/, ''))

const linksIn = (text: string): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter(target => !/^https?:/.test(target))

/** Patterns of citations of pages outside the project, by names and section numbers. */
const CITATIONS = [
  /\b(?:auth|dr)-behaviour\b/,
  /\baws-platform\b/,
  /\b(?:architecture|interface|style|dependencies)(?: decisions?)? \d/i,
  /\bdecisions? \d/,
  /(?<![\w-])[TD]-\d+\b/,
  /(?<![\w.-])27\.(?:\d+|n)(?![\d.])/,
  /\bplatform notes\b/,
  /\b(?:behaviour|login) \d+\.\d/,
  /\bissue \d/,
  /§/,
]
const citationsIn = (text: string): string[] =>
  CITATIONS.flatMap(pattern => text.match(new RegExp(pattern, `${pattern.flags}g`)) ?? [])

const ADVISORY = /CVE-\d{4}-\d+|HCSEC-\d{4}-\d+|GHSA(?:-[0-9a-z]{4}){3}|\bGH-\d+/g

const listed = (paths: readonly string[], faultsIn: (path: string) => string[]): string[] =>
  paths.flatMap(path => faultsIn(path).map(fault => `${path}: ${fault}`))

test('sources and pages are found', () => {
  expect(sources.length).toBeGreaterThan(400)
  expect(pages.length).toBeGreaterThan(15)
  expect(sources.flatMap(path => seesIn(read(path))).length).toBeGreaterThan(100)
})

test('every @see names an anchor of a page, a file, or an official document', () => {
  expect(
    listed(sources, path =>
      seesIn(read(path)).flatMap(target => {
        const fault = seeFault(target)
        return fault ? [`${target}: ${fault}`] : []
      }),
    ),
  ).toEqual([])
})

test('every relative link of a page leads to a file, and to an anchor where it names one', () => {
  expect(
    listed(pages, path =>
      linksIn(read(path)).flatMap(target => {
        const there = target.startsWith('#') ? path + target : join(dirname(path), target)
        const fault = faultOf(there, path)
        return fault ? [`${target}: ${fault}`] : []
      }),
    ),
  ).toEqual([])
})

test('every advisory in sources and pages has a row in docs/look-up/advisories.md', () => {
  const known = new Set(read('docs/look-up/advisories.md').match(ADVISORY))
  expect(
    listed([...sources, ...pages], path => (read(path).match(ADVISORY) ?? []).filter(one => !known.has(one))),
  ).toEqual([])
})

test('docs/spec/README.md lists every page of its folder', () => {
  const index = linksIn(read('docs/spec/README.md'))
  const there = filesIn('docs/spec', /\.md$/).map(path => path.replace('docs/spec/', ''))
  expect(there.filter(name => name !== 'README.md' && !index.includes(name))).toEqual([])
})

test('docs/README.md lists every page', () => {
  const index = read('docs/README.md')
  const beside = ['', 'learn/', 'do/', 'do/platforms/', 'look-up/', 'understand/']
    .flatMap(shelf => readdirSync(`${root}docs/${shelf}`).map(name => `${shelf}${name}`))
    .filter(name => name.endsWith('.md') && name !== 'README.md')
  expect(beside.filter(name => !index.includes(`](${name})`))).toEqual([])
})

describe('citations of pages outside the project', () => {
  test.each([
    'nonce: auth-behaviour 4.2.8',
    'shares: dr-behaviour 8.1',
    'quotas (aws-platform 1.4)',
    'the order (architecture 8)',
    'LIST: architecture decision 19',
    'defaults of interface 2.6',
    'imports: style 5.5',
    'bundles, dependencies 9',
    'retries (T-24)',
    'headers that are sent: D-16',
    'as in 27.n',
    'age (platform notes 3.1)',
    'nested (login 4.3.2)',
    'npm start: issue 2 §8.1',
  ])('%j is recognised as a citation', text => expect(citationsIn(text)).not.toEqual([]))

  test.each([
    'http://127.0.0.1:80',
    '127.77.0.2',
    'CVE-2020-16250',
    'GHSA-mwr2-wmgp-crj6',
    'v1.27.3',
    'LT-10',
  ])('%j is not recognised as a citation', text => expect(citationsIn(text)).toEqual([]))

  test('do not occur in sources and pages', () => {
    expect(listed([...sources, ...pages], path => citationsIn(read(path)))).toEqual([])
  })
})
