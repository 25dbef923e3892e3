import { answer } from '../api/call.ts'
import {
  declareEndpoint,
  describeAccess,
  type Endpoint,
  type EndpointGroup,
  type EndpointName,
} from '../api/endpoint.ts'
import { type ParameterFields, textField } from '../api/fields.ts'
import type { JsonSchema } from '../values/shape.ts'
import { type EndpointMatch, findEndpointsOfPath } from './match.ts'

/**
 * Finds the help for `?help=1`: the endpoints of a path, or the endpoints below the path if it is only a prefix.
 * Returns undefined if no endpoints match.
 */
export async function findEndpointHelp(
  group: EndpointGroup,
  path: string,
): Promise<EndpointMatch | undefined> {
  const place = path.replace(/\/$/, '')
  const exact = findEndpointsOfPath(group, place)
  if (exact) return found(exact.template, exact.pathParameters, path, helpOf(exact.template, exact.rows))
  const below = rowsBelow((await group.all?.()) ?? [group], place)
  if (below.length === 0) return undefined
  const mounted = below.every(({ template }) => template.includes(':mount'))
  const [first, mount, ...others] = place.split('/')
  // the log contains the place, so it may contain only words of the endpoint table
  return mounted && mount
    ? found(`/${[first, ':mount', ...others].join('/')}`, { mount }, path, overviewOf(below))
    : found(`/${place}`, {}, path, overviewOf(below))
}

/** Returns the paths to show in the help. Deprecated paths have help but are not listed. */
const currentPaths = ({ path, also }: EndpointName): string[] => [path, ...(also ? [also] : [])]

interface Help {
  help: string
  see_also: readonly string[]
}

const found = (
  place: string,
  pathParameters: Readonly<Record<string, string>>,
  path: string,
  help: Help,
): EndpointMatch => ({
  kind: 'endpoint',
  endpoint: declareEndpoint({
    method: 'GET',
    path: `${place}?help`,
    summary: 'Description of a path',
    fields: { help: textField('Any value: returns help on the path instead of calling it') },
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

const parametersOf = (fields: ParameterFields): string[] =>
  Object.entries(fields).map(
    ([name, { schema, required, doc }]) =>
      `    ${name} (${[typeOf(schema), ...(required ? ['required'] : [])].join(', ')})\n        ${doc}`,
  )

const typeOf = ({ type, oneOf }: JsonSchema): string =>
  Array.isArray(oneOf) ? (oneOf as JsonSchema[]).map(typeOf).join(' or ') : String(type ?? 'any')

interface Below {
  template: string
  row: EndpointName
}

/** Returns the endpoints below a place. Literal matches win over matches with a mount parameter. */
function rowsBelow(groups: readonly { endpoints: readonly EndpointName[] }[], place: string): Below[] {
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
