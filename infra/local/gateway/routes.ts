import type { ApiRoute } from '../template/api-definitions.ts'

/** Finds the function that a front end calls for a verb and a path, or undefined if no route matches. */
export type FindFunction = (method: string, path: string) => string | undefined

/**
 * Finds the route of a request: exact paths before greedy ones, fixed segments before variables, then `$default`.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
 */
export function createRouteFinder(routes: readonly ApiRoute[]): FindFunction {
  const parsed = routes.flatMap(({ key, functionName }) => {
    const [method = '', path = ''] = key.split(' ')
    return key === '$default' ? [] : [{ method, parts: path.split('/'), functionName }]
  })
  const fallback = routes.find(route => route.key === '$default')?.functionName
  return (method, path) => {
    const given = path.split('/')
    const hits = parsed
      .filter(route => route.method === 'ANY' || route.method === method)
      .flatMap(route => {
        const rank = rankOf(route.parts, given)
        return rank === undefined ? [] : [{ rank, functionName: route.functionName }]
      })
    hits.sort((a, b) => (a.rank < b.rank ? -1 : 1))
    return hits[0]?.functionName ?? fallback
  }
}

/**
 * Returns how specific the match of a route is, as a sortable text, or undefined if the route does not match.
 */
function rankOf(parts: readonly string[], given: readonly string[]): string | undefined {
  const greedy = parts.at(-1)?.endsWith('+}') ?? false
  const fixed = greedy ? parts.slice(0, -1) : parts
  if (greedy ? given.length <= fixed.length : given.length !== fixed.length) return undefined
  const kinds = fixed.map((part, index) =>
    part === given[index] ? 'a' : part.startsWith('{') && given[index] !== '' ? 'b' : undefined,
  )
  // if one path is a prefix of the other, the longer path comes first
  return kinds.includes(undefined) ? undefined : `${greedy ? '2' : '1'}${kinds.join('')}c`
}
