/** Name of the REST API's only stage. All paths of the API begin with the stage, so clients keep the same base path. */
export const REST_API_STAGE = 'v1'

const GREEDY = '{proxy+}'
const isVariable = (part: string): boolean => part.startsWith('{') && part !== GREEDY

/**
 * Converts paths to resources of a REST API, below its stage. A REST resource can have one variable child
 * only, and a greedy variable is a variable child too: next to `a/{x}/b`, the path `a/{proxy+}` becomes
 * `a/{x}` and `a/{x}/{proxy+}`.
 * @param routes each path with its target; paths outside the stage are left out
 */
export function toRestPaths<T>(routes: readonly (readonly [path: string, to: T])[]): Map<string, T> {
  const below = routes.flatMap(([path, to]) =>
    path.startsWith(`/${REST_API_STAGE}/`) ? [[path.slice(REST_API_STAGE.length + 1), to] as const] : [],
  )
  const variables = new Map(below.flatMap(([path]) => variablesIn(path)))
  const paths = new Map<string, T>()
  for (const [path, to] of below) {
    const parent = path.slice(0, -GREEDY.length - 1)
    const variable = path.endsWith(`/${GREEDY}`) ? variables.get(parent) : undefined
    const own = variable === undefined ? [path] : [`${parent}/${variable}`, `${parent}/${variable}/${GREEDY}`]
    for (const one of own) paths.set(one, to)
  }
  return paths
}

/** Returns each variable of a path with the segments before it. */
const variablesIn = (path: string): [parent: string, variable: string][] => {
  const parts = path.split('/')
  return parts.flatMap((part, at) =>
    isVariable(part) ? [[parts.slice(0, at).join('/'), part] as [string, string]] : [],
  )
}
