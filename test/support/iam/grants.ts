import { type IamRequest, like, listOf, type Statement } from './evaluate.ts'

/** A grant: one action of a policy statement on one of its resources, in the role of a function. */
export interface Grant {
  /** folder in functions/ */
  function: string
  action: string
  /** an ARN or a pattern */
  resource: string
  /** conditions of the statement, as JSON; empty: none */
  when: string
}

/**
 * The reason why a grant exists although no test uses it. Absent fields match everything; `action` and
 * `resource` match by a part of their text.
 */
export interface Reason {
  functions?: readonly string[]
  action?: string
  resource?: string
  /** true: the reason holds only when another function has the same grant and uses it */
  elsewhere?: true
  because: string
}

const textOf = (grant: Grant): string => JSON.stringify(grant)

export const grantsOf = (functions: Readonly<Record<string, readonly Statement[]>>): Map<string, Grant> =>
  new Map(
    Object.entries(functions).flatMap(([name, statements]) =>
      statements.flatMap(statement => grantsIn(name, statement)).map(grant => [textOf(grant), grant]),
    ),
  )

const grantsIn = (name: string, { Action, Resource, Condition }: Statement): Grant[] =>
  listOf(Action).flatMap(action =>
    listOf(Resource).map(resource => ({
      function: name,
      action,
      resource,
      when: Condition ? JSON.stringify(Condition) : '',
    })),
  )

/** Returns the grant by which a policy statement allows a request, as a text. */
export function markOf(name: string, statement: Statement, { action, resource }: IamRequest): string {
  const grant = grantsIn(name, statement).find(
    one => like(one.action, 'i')(action) && like(one.resource)(resource),
  )
  if (!grant) throw new Error(`${name}: nothing in the statement is ${action} on ${resource}`)
  return textOf(grant)
}

const fits = (grant: Grant, { functions, action = '', resource = '' }: Reason): boolean =>
  (functions?.includes(grant.function) ?? true) &&
  grant.action.includes(action) &&
  grant.resource.includes(resource)

const anybodys = ({ function: _, ...grant }: Grant): string => JSON.stringify(grant)

/**
 * Compares the grants of all policies with the grants that tests used.
 * @param used texts of `markOf`
 * @returns unused grants without a reason, and reasons that match no unused grant
 */
export function unusedGrants(
  granted: ReadonlyMap<string, Grant>,
  used: ReadonlySet<string>,
  reasons: readonly Reason[],
): { unused: Grant[]; stale: Reason[] } {
  const idle = [...granted].flatMap(([text, grant]) => (used.has(text) ? [] : [grant]))
  const busy = new Set([...granted].flatMap(([text, grant]) => (used.has(text) ? [anybodys(grant)] : [])))
  const covers = (reason: Reason) => (grant: Grant) =>
    fits(grant, reason) && (!reason.elsewhere || busy.has(anybodys(grant)))
  return {
    unused: idle.filter(grant => !reasons.some(reason => covers(reason)(grant))),
    stale: reasons.filter(reason => !idle.some(covers(reason))),
  }
}
