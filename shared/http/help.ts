import { answer } from '../api/call.ts'
import { describeAccess, type Endpoint, endpoint, type Group, type Named } from '../api/endpoint.ts'
import { type Fields, text } from '../api/fields.ts'
import type { Schema } from '../values/shape.ts'
import { findRows, type Match } from './match.ts'

/**
 * What answers `?help=1`: the rows of the endpoint table that a path matches, or those below it where it is only the
 * beginning of paths. Undefined when there is none.
 */
export async function findHelp(group: Group, path: string): Promise<Match | undefined> {
  const place = path.replace(/\/$/, '')
  const exact = findRows(group, place)
  if (exact) return found(exact.template, exact.pathParameters, path, helpOf(exact.template, exact.rows))
  const below = rowsBelow((await group.all?.()) ?? [group], place)
  if (below.length === 0) return undefined
  const mounted = below.every(({ template }) => template.includes(':mount'))
  const [first, mount, ...others] = place.split('/')
  // the place goes into logs, where only words of the table may stand
  return mounted && mount
    ? found(`/${[first, ':mount', ...others].join('/')}`, { mount }, path, overviewOf(below))
    : found(`/${place}`, {}, path, overviewOf(below))
}

/** Deprecated paths are explained, but not shown. */
const currentPaths = ({ path, also }: Named): string[] => [path, ...(also ? [also] : [])]

interface Help {
  help: string
  see_also: readonly string[]
}

const found = (
  place: string,
  pathParameters: Readonly<Record<string, string>>,
  path: string,
  help: Help,
): Match => ({
  kind: 'endpoint',
  endpoint: endpoint({
    method: 'GET',
    path: `${place}?help`,
    summary: 'What a path is for',
    fields: { help: text('Anything: asks what the path is for instead of calling it') },
    access: { by: 'token' },
    answers: 'plain',
    handle: () => answer({ kind: 'plain', status: 200, body: { ...help } }),
  }),
  pathParameters,
  path,
})

const helpOf = (template: string, rows: readonly Endpoint[]): Help => ({
  help: [`Path: ${template}`, ...rows.map(describe)].join('\n\n'),
  see_also: [...new Set(rows.flatMap(currentPaths))].filter(path => path !== template),
})

const describe = (row: Endpoint): string =>
  [`## ${row.method}: ${row.summary}`, describeAccess(row), ...parametersOf(row.fields)].join('\n\n')

const parametersOf = (fields: Fields): string[] =>
  Object.entries(fields).map(
    ([name, { schema, required, doc }]) =>
      `    ${name} (${[typeOf(schema), ...(required ? ['required'] : [])].join(', ')})\n        ${doc}`,
  )

const typeOf = ({ type, oneOf }: Schema): string =>
  Array.isArray(oneOf) ? (oneOf as Schema[]).map(typeOf).join(' or ') : String(type ?? 'any')

interface Below {
  template: string
  row: Named
}

/** The rows below a place: where its words are those of paths, these alone, else those whose parameters it fills. */
function rowsBelow(groups: readonly { endpoints: readonly Named[] }[], place: string): Below[] {
  const words = place.split('/')
  const all = groups.flatMap(group =>
    group.endpoints.flatMap(row => currentPaths(row).map(template => ({ template, row }))),
  )
  const begins = (same: (part: string, word: string) => boolean) =>
    all.filter(({ template }) => {
      const parts = template.slice(1).split('/')
      return parts.length > words.length && words.every((word, index) => same(parts[index] ?? '', word))
    })
  const literal = begins((part, word) => part === word)
  return literal.length > 0 ? literal : begins((part, word) => part === word || part === ':mount')
}

function overviewOf(below: readonly Below[]): Help {
  const lines = below.map(({ template, row }) => `    ${row.method} ${template}\n        ${row.summary}`)
  const templates = [...new Set(below.map(({ template }) => template))].sort()
  return { help: ['Paths:', ...lines].join('\n\n'), see_also: templates }
}
