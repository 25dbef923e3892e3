import { remove } from '../storage/changes.ts'
import type { Item, Key, Kind } from '../storage/kinds.ts'
import { answerAfter, type Call, type Outcome } from './call.ts'
import { ApiError } from './errors.ts'

/** What the endpoint's row declares as `subject`. */
type About = Pick<Call, 'subjectKey' | 'subject'>

/** Where the item stands that an endpoint is about, of the kind its row declares. */
export function subjectKeyOf<K extends Kind>({ subjectKey }: About, kind: K): Key<K> {
  if (subjectKey?.kind !== kind) throw new ApiError('internal', `the subject is not a ${kind}`)
  return subjectKey as Key<K>
}

/** The item that an endpoint is about, if there is one. */
export function subjectOf<K extends Kind>(call: About, kind: K): Item<K> | undefined {
  subjectKeyOf(call, kind)
  return call.subject as Item<K> | undefined
}

/**
 * The item that an endpoint is about.
 * @throws ApiError `not_found`
 */
export function requireSubject<K extends Kind>(call: About, kind: K): Item<K> {
  const stored = subjectOf(call, kind)
  if (!stored) throw new ApiError('not_found')
  return stored
}

/** Deletes the item that an endpoint is about. One that is not there is as good as deleted. */
export function removeSubject({ subjectKey }: Call): Outcome {
  if (!subjectKey) throw new ApiError('internal', 'an endpoint without subject was to delete it')
  return answerAfter([remove(subjectKey)])
}
