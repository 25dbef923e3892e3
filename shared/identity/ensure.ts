import type { Alias } from '../model/alias.ts'
import { type Change, createItem, replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'

/** The identity that a login presents. */
export interface LoginIdentity {
  mount: string
  name: string
  metadata: Readonly<Record<string, string>>
  /** epoch milliseconds */
  now: number
  fresh: { entityId: string; aliasId: string }
}

/** The writes for an alias. Usually an alias needs no writes. */
export interface AliasWrites {
  /** written with the token at the alias's first login */
  created: readonly Change[]
  /** written if only the metadata changed; logins of one alias may have different metadata, so nothing may depend on it */
  metadata?: Change
}

/** Returns the entity of a login, and the writes it needs. @see docs/spec/tokens.md#entities */
export function ensureIdentityAlias(
  stored: Item<'alias'> | undefined,
  seen: LoginIdentity,
): { alias: Alias } & AliasWrites {
  const place = key('alias', seen.mount, seen.name)
  if (!stored) {
    const alias = newAlias(seen)
    const pointer = { mount: seen.mount, name: seen.name }
    return {
      alias,
      created: [
        createItem(place, alias),
        createItem(key('entity', alias.entityId), pointer),
        createItem(key('alias-id', alias.aliasId), pointer),
      ],
    }
  }
  if (equalTextMaps(stored.data.metadata, seen.metadata)) return { alias: stored.data, created: [] }
  const alias = { ...stored.data, metadata: seen.metadata, updatedAt: seen.now }
  return { alias, created: [], metadata: replaceItem(place, stored, alias) }
}

const newAlias = ({ mount, name, metadata, now, fresh }: LoginIdentity): Alias => ({
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

/** Reports whether two maps of texts are equal. */
export const equalTextMaps = (
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, value]) => Object.hasOwn(b, name) && b[name] === value)
