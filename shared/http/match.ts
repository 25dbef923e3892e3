import type { Operation } from '../api/call.ts'
import {
  type Endpoint,
  type EndpointGroup,
  isOpenToAnonymous,
  operationByMethod,
  pathsOf,
} from '../api/endpoint.ts'
import { normalisePathParameter, pathParameterRule } from '../api/params.ts'
import { defined } from '../values/defined.ts'

/** The endpoint and path parameters of a request, or why no endpoint matches. */
export type EndpointMatch =
  | { kind: 'endpoint'; endpoint: Endpoint; pathParameters: Readonly<Record<string, string>>; path: string }
  | {
      kind: 'miss'
      miss: 'path' | 'operation'
      open: boolean
      /** `serves` of the endpoint that the path has for another operation */
      serves?: Endpoint['serves']
      /** advice for authorised callers */
      hint?: string
      pathParameters: Readonly<Record<string, string>>
      path: string
    }

interface Route {
  endpoint: Endpoint
  operation: Operation
  template: string
  pattern: RegExp
  /** matches the path with any text for each parameter */
  anyNames: RegExp
  /** pattern of each path parameter */
  names: readonly { name: string; pattern: RegExp }[]
}

const NAME = /:(\w+)/g

const compiled = new WeakMap<EndpointGroup, readonly Route[]>()

function routesOf(group: EndpointGroup): readonly Route[] {
  const found = compiled.get(group)
  if (found) return found
  const routes = group.endpoints.flatMap(endpoint =>
    pathsOf(endpoint).map(template => ({
      endpoint,
      operation: operationByMethod[endpoint.method],
      template,
      pattern: patternOf(template, endpoint.method === 'LIST'),
      anyNames: new RegExp(`^${template.slice(1).replace(NAME, '(?<$1>[^/]+)')}$`),
      names: [...template.matchAll(NAME)].map(([, name = '']) => ({
        name,
        pattern: new RegExp(`^${pathParameterRule(name).pattern}$`),
      })),
    })),
  )
  compiled.set(group, routes)
  return routes
}

// A listing accepts a trailing slash; every other path has one form.
function patternOf(template: string, list: boolean): RegExp {
  const parts = template.split('/').map(part => {
    if (!part.startsWith(':')) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return `(?<${part.slice(1)}>${pathParameterRule(part.slice(1)).pattern})`
  })
  return new RegExp(`^${parts.join('/').slice(1)}${list ? '/?' : ''}$`)
}

/**
 * Finds the endpoint of a path below `/v1`, without leading slash.
 * `open` marks a miss that anyone may learn about: the path is anonymous and names no mount.
 */
export function matchEndpoint(
  group: EndpointGroup,
  operation: Operation | undefined,
  path: string,
): EndpointMatch {
  const hits = routesOf(group).flatMap(route => {
    const found = route.pattern.exec(path)
    return found ? [{ route, pathParameters: normalised(found.groups ?? {}) }] : []
  })
  const hit = hits.find(({ route }) => route.operation === operation)
  if (hit)
    return {
      kind: 'endpoint',
      endpoint: hit.route.endpoint,
      pathParameters: hit.pathParameters,
      path: typed(hit.route.template, hit.pathParameters),
    }
  const [first] = hits
  if (!first)
    return defined({
      kind: 'miss' as const,
      miss: 'path' as const,
      open: false,
      pathParameters: mountOnly(path),
      path,
      hint: nameFault(group, path),
    })
  const open = hits.some(({ route }) => isOpen(route.endpoint, route.template))
  const isListing = operation === 'read' && hits.some(({ route }) => route.operation === 'list')
  return defined({
    kind: 'miss' as const,
    miss: 'operation' as const,
    open,
    pathParameters: first.pathParameters,
    path,
    serves: first.route.endpoint.serves,
    hint: isListing ? 'this path is a listing: use the verb LIST, or GET with ?list=true' : undefined,
  })
}

/** Returns which path parameter is invalid; undefined if more than a parameter differs from every endpoint. */
function nameFault(group: EndpointGroup, path: string): string | undefined {
  for (const { anyNames, names } of routesOf(group)) {
    const texts = anyNames.exec(path)?.groups
    const faulty = texts && names.find(({ name, pattern }) => !pattern.test(texts[name] ?? ''))
    if (faulty) return `${faulty.name} may hold letters, digits and "_", and "-" and "." inside`
  }
  return undefined
}

/** Reports whether anyone may learn that the path exists: it has no parameters, or is anonymous and names no mount. */
const isOpen = (endpoint: Endpoint, template: string): boolean =>
  !template.includes(':') || (isOpenToAnonymous(endpoint) && !template.includes(':mount'))

/** Builds the miss for a verb that the endpoint does not support. */
export const createOperationMiss = (
  endpoint: Endpoint,
  pathParameters: EndpointMatch['pathParameters'],
  path: string,
): EndpointMatch => ({
  kind: 'miss',
  miss: 'operation',
  open: isOpen(endpoint, endpoint.path),
  pathParameters,
  path,
  serves: endpoint.serves,
})

/** Returns the endpoints of a path for all operations, by the first matching template. */
export function findEndpointsOfPath(
  group: EndpointGroup,
  path: string,
):
  | { template: string; rows: readonly Endpoint[]; pathParameters: Readonly<Record<string, string>> }
  | undefined {
  const routes = routesOf(group)
  const template = routes.find(route => route.pattern.test(path))?.template
  if (template === undefined) return undefined
  const same = routes.filter(route => route.template === template)
  const groups = same.map(route => route.pattern.exec(path)?.groups).find(Boolean)
  return { template, rows: same.map(route => route.endpoint), pathParameters: normalised(groups ?? {}) }
}

const normalised = (groups: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, normalisePathParameter(name, text)]))

// Parameters are put back in canonical form, so that a policy for role/prod governs role/PROD too.
const typed = (template: string, pathParameters: Readonly<Record<string, string>>): string =>
  template.slice(1).replace(NAME, (_, name: string) => pathParameters[name] ?? '')

const mountOnly = (path: string): Record<string, string> => {
  const mount = /^auth\/([^/]+)\//.exec(path)?.[1]
  return mount === undefined ? {} : { mount }
}
