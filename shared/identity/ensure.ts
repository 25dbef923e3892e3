import { type Change, create, replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import type { Alias } from './alias.ts'

/** What a login says about who logged in. */
export interface Sighting {
  mount: string
  name: string
  metadata: Readonly<Record<string, string>>
  /** epoch milliseconds */
  now: number
  fresh: { entityId: string; aliasId: string }
}

/**
 * The entity behind a login, and what has to be written: everything at the first sighting, the metadata when
 * they changed, otherwise nothing. @see auth-behaviour 4.4 (2)
 */
export function ensureAlias(
  stored: Item<'alias'> | undefined,
  seen: Sighting,
): { alias: Alias; changes: Change[] } {
  const place = key('alias', seen.mount, seen.name)
  if (!stored) {
    const alias = newAlias(seen)
    const pointer = { mount: seen.mount, name: seen.name }
    return {
      alias,
      changes: [
        create(place, alias),
        create(key('entity', alias.entityId), pointer),
        create(key('alias-id', alias.aliasId), pointer),
      ],
    }
  }
  if (sameTexts(stored.data.metadata, seen.metadata)) return { alias: stored.data, changes: [] }
  const alias = { ...stored.data, metadata: seen.metadata, updatedAt: seen.now }
  return { alias, changes: [replace(place, stored, alias)] }
}

const newAlias = ({ mount, name, metadata, now, fresh }: Sighting): Alias => ({
  entityId: fresh.entityId,
  aliasId: fresh.aliasId,
  mount,
  name,
  metadata,
  disabled: false,
  policies: [],
  entityName: `entity_${fresh.entityId.slice(0, 8)}`,
  entityMetadata: {},
  createdAt: now,
  updatedAt: now,
})

/** Whether two sets of texts are the same. */
export const sameTexts = (
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, value]) => Object.hasOwn(b, name) && b[name] === value)
