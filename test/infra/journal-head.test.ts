import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { headRuleList } from '../../shared/journal/head.ts'
import { type HeadTransitionName, headTransitions } from '../../shared/journal/transitions.ts'

// docs/spec/journal-head.md must match the code: fields, rules, and the diagram of the modes, which is
// generated from the transitions. Run this test with `-u` to write the page.

const root = new URL('../../', import.meta.url).pathname
const page = `${root}docs/spec/journal-head.md`
const source = readFileSync(`${root}shared/journal/head.ts`, 'utf8')

interface Row {
  readonly modes: Readonly<Record<string, string>>
  readonly by: string
  readonly why: string
}
const rows = Object.entries(headTransitions) as unknown as [HeadTransitionName, Row][]

const body = source.slice(source.indexOf('export interface JournalHead {'), source.indexOf('\n}\n'))

/** Returns the fields of the journal head with the comments of their type. */
function fields(): [name: string, text: string][] {
  return [...body.matchAll(/\/\*\*([\s\S]*?)\*\/\n {2}(\w+)\??:/g)].map(([, text = '', name = '']) => [
    name,
    text
      .replace(/\n\s*\*/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  ])
}

const table = (head: readonly string[], lines: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...lines].map(line => `| ${line.join(' | ')} |`).join('\n')

const code = (name: string): string => `\`${name}\``

/**
 * Draws the diagram of the modes: an arrow for each pair of modes, and a note with the transitions that keep
 * a mode.
 */
function picture(): string {
  const pairs = rows.flatMap(([name, { modes }]) =>
    Object.entries(modes).map(([from, to]) => ({ name, from, to })),
  )
  const at = (mode: string) => (mode === 'none' ? '[*]' : mode)
  const arrows = Map.groupBy(
    pairs.filter(({ from, to }) => from !== to),
    ({ from, to }) => `${at(from)} --> ${to}`,
  )
  const notes = Map.groupBy(
    pairs.filter(({ from, to }) => from === to),
    ({ from }) => from,
  )
  const names = (all: readonly { name: string }[]) => all.map(({ name }) => name).join(', ')
  return [
    '```mermaid',
    'stateDiagram-v2',
    ...[...arrows].map(([arrow, all]) => `    ${arrow}: ${names(all)}`),
    ...[...notes].flatMap(([mode, all]) => [
      `    note right of ${mode}`,
      `        ${names(all)}`,
      '    end note',
    ]),
    '```',
  ].join('\n')
}

const parts: Readonly<Record<string, string>> = {
  fields: table(
    ['field', 'meaning'],
    fields().map(([name, text]) => [code(name), text]),
  ),
  rules: table(
    ['rule', 'invariant'],
    headRuleList.map(([name, { says }]) => [code(name), says]),
  ),
  modes: picture(),
}

describe('docs/spec/journal-head.md', () => {
  test('equals the tables and the diagram from the code', async () => {
    const written = Object.entries(parts).reduce(
      (text, [name, part]) =>
        text.replace(
          new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`),
          (_, before, after) => `${before}${part}\n${after}`,
        ),
      readFileSync(page, 'utf8'),
    )
    for (const name of Object.keys(parts)) expect(written).toContain(`<!-- ${name} -->\n${parts[name]}\n`)
    await expect(written).toMatchFileSnapshot(page)
  })

  test('describes each field in at least two sentences', () => {
    const named = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name)
    const said = fields()
    expect(said.map(([name]) => name).sort()).toEqual(named.sort())
    for (const [name, text] of said) expect(text.split(/[.;] /).length, name).toBeGreaterThan(1)
  })
})

test('every transition of the journal head names its actor and its reason', () => {
  for (const [name, { by, why }] of rows)
    expect(
      [by, why].filter(text => text.length < 10),
      name,
    ).toEqual([])
})

test('every transition of the journal head is used, and only transitions change the head', () => {
  const files = readdirSync(`${root}shared`, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts'),
  )
  const texts = files.map(name => readFileSync(`${root}shared/${name}`, 'utf8'))
  const used = new Set(
    texts.flatMap(text => [...text.matchAll(/\bheadMoves\.(\w+)\(/g)].map(([, name]) => name)),
  )
  expect([...used].sort()).toEqual(rows.map(([name]) => name).sort())
  const makers = files.filter((_, index) => /as (unknown as )?HeadMove\b/.test(texts[index] ?? ''))
  expect(makers).toEqual(['journal/transitions.ts'])
})
