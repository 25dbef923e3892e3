import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DEFAULT_CALL_TIMEOUT_MS } from '../../shared/link/call.ts'
import { fieldBounds } from '../../shared/link/forms.ts'
import { methodNames, rowOf } from '../../shared/link/methods.ts'
import { FORMAT } from '../../shared/link/source.ts'

// docs/spec/link.md says what the code says: who asks what, for how long, how long fields may be, which formats there were.

const page = readFileSync(new URL('../../docs/spec/link.md', import.meta.url), 'utf8')

/** Rows of the table that begins with this column, without its head. */
function rowsUnder(column: string): string[][] {
  const [, table = ''] = page.split(new RegExp(`^(?=\\| ${column} \\|)`, 'm'))
  const lines =
    table
      .split(/^(?!\|)/m)[0]
      ?.trimEnd()
      .split('\n') ?? []
  return lines.slice(2).map(line => line.slice(2, -2).split(' | '))
}

const whoAsks = {
  secondary: 'a secondary',
  newcomer: 'a cluster that proves its key',
  primary: 'the primary',
} as const

test('each method of the link has a row, which says who asks, how long that may take, and what it does', () => {
  const rows = rowsUnder('method')
  expect(rows.map(([name, who, within]) => [name, who, within])).toEqual(
    methodNames.map(method => {
      const { by, timeoutMs = DEFAULT_CALL_TIMEOUT_MS } = rowOf(method)
      return [`\`${method}\``, whoAsks[by], `${timeoutMs / 1000} s`]
    }),
  )
  for (const [name, , , what = ''] of rows) expect(what.length, name).toBeGreaterThan(10)
})

test('the calls that are not answered twice are those whose rows say so', () => {
  const [, named = ''] =
    /Is the time later than any before\s+\((.*?), which change something/s.exec(page) ?? []
  const expected = methodNames.filter(method => rowOf(method).requiresLaterTime)
  expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(expected)
})

test('the calls that need no clock are those whose rows say so', () => {
  const [, named = ''] = /Are the clocks within five minutes \(not for (.*?)\)/s.exec(page) ?? []
  const expected = methodNames.filter(method => rowOf(method).ignoresClock)
  expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(expected)
})

test('the bounds of fields are those of the code', () => {
  const { cluster, state, id, address, lineage, chain, keys, token } = fieldBounds
  expect(state).toEqual(cluster)
  expect(page.replaceAll('\n', ' ')).toContain(
    `a UUID or a state ${cluster?.bytes} bytes, the name of a cluster ${id?.bytes} bytes, an address ${address?.bytes} bytes, a lineage ${lineage?.most} epochs, a chain ${chain?.most} statements, \`Items\` ${keys?.most} keys, an activation token ${token?.bytes} bytes.`,
  )
})

test('the format is that of the code', () => {
  expect(page.replaceAll('\n', ' ')).toContain(`a number for journal and link together. It is ${FORMAT}.`)
})
