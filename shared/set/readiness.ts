import { isObject } from '../values/json.ts'
import { aFlag, anInt, aText, manyOf, object, type ValueOf } from '../values/shape.ts'
import { SchemaReader } from './status.ts'

/** Seconds that a licence has to last: a former primary needs a token of its successor. */
const LICENCE_S = 86_400

const shape = object(
  { checks: manyOf(object({ name: aText, passes: aFlag, text: aText })) },
  {
    lag: object({ primary: aText }),
    license: object({ seconds_left: anInt }),
    operation_token: object({ presented: object({ counts: aFlag, why: aText }) }),
  },
)

/**
 * Says why a cluster is not ready for a planned switch; empty: it is.
 * @param data of its readiness
 */
export function readinessFault(cluster: string, data: unknown): string {
  const reader = new SchemaReader()
  const read: Partial<ValueOf<typeof shape>> = reader.fields(shape, isObject(data) ? data : {})
  const { checks = [], lag, license, operation_token: token } = read
  const [odd] = reader.odd.filter(text => text.endsWith('odd') || text === 'checks is missing')
  if (odd !== undefined) return `${cluster}: the answer is no readiness: ${odd}`
  if (!token?.presented.counts)
    return `${cluster}: the operation token does not do: ${token?.presented.why ?? 'nothing is said of it'}`
  // the primary's view of its secondaries may be outdated: the other cluster answers for itself
  const faults = checks.filter(({ name, passes }) => !passes && name !== 'secondaries')
  if (faults.length > 0) return `${cluster}: ${faults.map(({ text }) => text).join('; ')}`
  if ((license?.seconds_left ?? 0) < LICENCE_S)
    return `${cluster}: the licence ends within a day, and without it no cluster can come back`
  return lag === undefined || lag.primary === 'answers'
    ? ''
    : `${cluster}: it does not hear its primary, which could not hand over`
}
