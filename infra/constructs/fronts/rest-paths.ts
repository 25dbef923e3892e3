/** The only stage of a REST API: the version that all paths of the API begin with, so that clients need no other base. */
export const STAGE = 'v1'

const GREEDY = '{proxy+}'
const isVariable = (part: string): boolean => part.startsWith('{') && part !== GREEDY

/**
 * Paths as a REST API takes them, below its stage. A resource there has one variable child at most, and a greedy one counts:
 * beside `a/{x}/b`, `a/{proxy+}` becomes `a/{x}` and `a/{x}/{proxy+}`.
 * @param routes a path each, with what it leads to; paths outside the stage are left out
 */
export function toRestPaths<T>(routes: readonly (readonly [path: string, to: T])[]): Map<string, T> {
  const below = routes.flatMap(([path, to]) =>
    path.startsWith(`/${STAGE}/`) ? [[path.slice(STAGE.length + 1), to] as const] : [],
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

/** Each variable of a path, by what stands before it. */
const variablesIn = (path: string): [parent: string, variable: string][] => {
  const parts = path.split('/')
  return parts.flatMap((part, at) =>
    isVariable(part) ? [[parts.slice(0, at).join('/'), part] as [string, string]] : [],
  )
}
