import { removeItem } from '../storage/changes.ts'
import type { Item, Key, Kind } from '../storage/kinds.ts'
import { answerAfterChanges, type Call, type CallOutcome } from './call.ts'
import { ApiError } from './errors.ts'

/** The subject that the endpoint's row declares. */
type About = Pick<Call, 'subjectKey' | 'subject'>

/** Returns the key of the endpoint's subject, checked against its kind. */
export function subjectKeyOf<K extends Kind>({ subjectKey }: About, kind: K): Key<K> {
  if (subjectKey?.kind !== kind) throw new ApiError('internal', `this endpoint’s item is not of kind ${kind}`)
  return subjectKey as Key<K>
}

/** Returns the endpoint's subject; undefined if it does not exist. */
export function subjectOf<K extends Kind>(call: About, kind: K): Item<K> | undefined {
  subjectKeyOf(call, kind)
  return call.subject as Item<K> | undefined
}

/**
 * Returns the endpoint's subject.
 * @throws ApiError `not_found`
 */
export function requireSubject<K extends Kind>(call: About, kind: K): Item<K> {
  const stored = subjectOf(call, kind)
  if (!stored) throw new ApiError('not_found')
  return stored
}

/** Deletes the endpoint's subject. Succeeds if it does not exist. */
export function deleteSubject({ subjectKey }: Call): CallOutcome {
  if (!subjectKey) throw new ApiError('internal', 'a deleting endpoint declares no item to delete')
  return answerAfterChanges([removeItem(subjectKey)])
}
