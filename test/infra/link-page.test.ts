import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DEFAULT_CALL_TIMEOUT_MS } from '../../shared/link/call.ts'
import { messageFieldBounds } from '../../shared/link/forms.ts'
import { linkMethodNames, linkMethodRow } from '../../shared/link/methods.ts'
import { LINK_FORMAT } from '../../shared/link/source.ts'

// docs/spec/link.md must match the code: callers, timeouts, field limits, format.

const page = readFileSync(new URL('../../docs/spec/link.md', import.meta.url), 'utf8')

/** Returns the rows of the table whose first column has this name. */
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

test('docs/spec/link.md has a row for each method with its caller, timeout and purpose', () => {
  const rows = rowsUnder('method')
  expect(rows.map(([name, who, within]) => [name, who, within])).toEqual(
    linkMethodNames.map(method => {
      const { by, timeoutMs = DEFAULT_CALL_TIMEOUT_MS } = linkMethodRow(method)
      return [`\`${method}\``, whoAsks[by], `${timeoutMs / 1000} s`]
    }),
  )
  for (const [name, , , what = ''] of rows) expect(what.length, name).toBeGreaterThan(10)
})

test('docs/spec/link.md lists the calls that the primary does not answer twice', () => {
  const [, named = ''] =
    /later than the time of any earlier call\s+\(only for (.*?), which\s+change something/s.exec(page) ?? []
  const expected = linkMethodNames.filter(method => linkMethodRow(method).requiresLaterTime)
  expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(expected)
})

test('docs/spec/link.md lists the calls that need no synchronised clock', () => {
  const [, named = ''] = /differ by at most five minutes\s+\(not for (.*?)\)/s.exec(page) ?? []
  const expected = linkMethodNames.filter(method => linkMethodRow(method).ignoresClock)
  expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(expected)
})

test('docs/spec/link.md has the field limits of the code', () => {
  const { cluster, state, id, address, lineage, chain, keys, token } = messageFieldBounds
  expect(state).toEqual(cluster)
  expect(page.replaceAll('\n', ' ')).toContain(
    `A UUID or a state has at most ${cluster?.bytes} bytes, the name of a cluster ${id?.bytes} bytes, an address ${address?.bytes} bytes. A lineage has at most ${lineage?.most} epochs, a chain ${chain?.most} statements, a request of \`Items\` ${keys?.most} keys, and an activation token ${token?.bytes} bytes.`,
  )
})

test('docs/spec/link.md has the format number of the code', () => {
  expect(page.replaceAll('\n', ' ')).toContain(`This version has format ${LINK_FORMAT}.`)
})
