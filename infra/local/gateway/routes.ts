import type { ApiRoute } from '../template/api-definitions.ts'

/** Finds the function that a front end calls for a verb and a path, or undefined if no route matches. */
export type FindFunction = (method: string, path: string) => string | undefined

/**
 * Finds the route of a request: exact paths before greedy ones, fixed segments before variables, then `$default`.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
 */
export function createRouteFinder(routes: readonly ApiRoute[]): FindFunction {
  const parsed = routes
    .filter(({ key }) => key !== '$default')
    .map(({ key, functionName }) => {
      const [method = '', path = ''] = key.split(' ')
      const parts = path.split('/')
      const isGreedy = parts.at(-1)?.endsWith('+}') ?? false
      return { method, fixed: isGreedy ? parts.slice(0, -1) : parts, isGreedy, functionName }
    })
    .toSorted((a, b) => rankOf(a).localeCompare(rankOf(b), 'en'))
  const fallback = routes.find(route => route.key === '$default')?.functionName
  return (method, path) => {
    const given = path.split('/')
    const hit = parsed.find(
      route => (route.method === 'ANY' || route.method === method) && isMatch(route, given),
    )
    return hit?.functionName ?? fallback
  }
}

interface RoutePath {
  method: string
  /** segments before a greedy variable */
  fixed: readonly string[]
  isGreedy: boolean
}

const isVariable = (part: string): boolean => part.startsWith('{')

/**
 * Returns how specific a route is, as a sortable text. If one path is a prefix of the other, the longer path comes
 * first. Of two routes with one path, `ANY` comes last.
 */
const rankOf = ({ method, fixed, isGreedy }: RoutePath): string =>
  `${isGreedy ? '2' : '1'}${fixed.map(part => (isVariable(part) ? 'b' : 'a')).join('')}c${method === 'ANY' ? 'b' : 'a'}`

const isMatch = ({ fixed, isGreedy }: Omit<RoutePath, 'method'>, given: readonly string[]): boolean =>
  (isGreedy ? given.length > fixed.length : given.length === fixed.length) &&
  fixed.every((part, index) => part === given[index] || (isVariable(part) && given[index] !== ''))
