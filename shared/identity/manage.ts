import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  keyListAnswer,
  noContentAnswer,
} from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { boolField, listField, textField, textMapField } from '../api/fields.ts'
import { type listFields, readPageParameters } from '../api/listing.ts'
import { subjectKeyOf, subjectOf } from '../api/subject.ts'
import type { Alias } from '../model/alias.ts'
import type { MountTable } from '../model/mount.ts'
import {
  isPolicyName,
  normalisePolicySet,
  POLICY_NAMES_TEXT,
  ROOT_POLICY_NAME,
  sanitisePolicies,
} from '../policies/names.ts'
import { removeItem, removeItemIfUnchanged, replaceItem } from '../storage/changes.ts'
import { type Item, itemPartitions, key } from '../storage/kinds.ts'
import { formatTime } from '../values/time.ts'

export const entityFields = {
  name: textField('Name of the entity'),
  disabled: boolField('Reject logins and tokens of the entity'),
  policies: listField('Additional policies of all tokens of the entity', { counts: normalisePolicySet }),
  metadata: textMapField('Texts by name'),
}

export const entityLookupFields = {
  name: textField('Name of the entity; searches all entities'),
  id: textField('ID of the entity'),
  alias_id: textField('ID of the entity’s alias'),
  alias_name: textField('Name of the entity’s alias, together with alias_mount_accessor'),
  alias_mount_accessor: textField('Accessor of the mount of the alias'),
}

type Kind = 'entity' | 'alias-id'

/** Reads the alias of an ID. */
async function aliasOf(call: Call, kind: Kind): Promise<Item<'alias'> | undefined> {
  const pointer = subjectOf(call, kind)?.data
  if (!pointer) return undefined
  const [item] = await call.ports.store.read([key('alias', pointer.mount, pointer.name)])
  return item
}

const known = (item: Item<'alias'> | undefined): Item<'alias'> => {
  if (!item) throw new ApiError('not_found')
  return item
}

/** Handles GET identity/entity/id/:id. */
export const readEntity = async (call: Call): Promise<CallOutcome> =>
  answer(dataAnswer(entityAnswer(known(await aliasOf(call, 'entity')).data, call.mounts)))

/** Handles GET identity/entity-alias/id/:id. */
export const readAlias = async (call: Call): Promise<CallOutcome> =>
  answer(dataAnswer(aliasAnswer(known(await aliasOf(call, 'alias-id')).data, call.mounts)))

/** Handles POST identity/entity/id/:id. Disabling takes effect with the next request of any of the entity's tokens. */
export async function writeEntity(call: Call<typeof entityFields>): Promise<CallOutcome> {
  const item = known(await aliasOf(call, 'entity'))
  const { parameters } = call
  const policies = parameters.policies && sanitisePolicies(parameters.policies)
  if (policies?.includes(ROOT_POLICY_NAME)) throw invalidRequestError('policies must not contain root')
  if (policies?.some(name => !isPolicyName(name))) throw invalidRequestError(POLICY_NAMES_TEXT)
  const next: Alias = {
    ...item.data,
    entityName: parameters.name || item.data.entityName,
    disabled: parameters.disabled ?? item.data.disabled,
    policies: policies ?? item.data.policies,
    entityMetadata: parameters.metadata ?? item.data.entityMetadata,
    updatedAt: call.now,
  }
  return answerAfterChanges([replaceItem(item, item, next)])
}

/**
 * Handles DELETE identity/entity/id/:id: removes the entity with its alias. After the deletion the entity's tokens
 * are rejected, and the next login creates a new entity. Deleting a missing entity succeeds.
 */
export async function deleteEntity(call: Call): Promise<CallOutcome> {
  const item = await aliasOf(call, 'entity')
  if (!item) return answer(noContentAnswer())
  const { aliasId } = item.data
  return answerAfterChanges([
    removeItemIfUnchanged(item),
    removeItem(subjectKeyOf(call, 'entity')),
    removeItem(key('alias-id', aliasId)),
  ])
}

/** Reads the aliases of the listed index entries. */
async function aliasesBehind(call: Call, pointers: readonly Item<Kind>[]): Promise<[string, Alias][]> {
  const keysOf = pointers.map(({ data: { mount, name } }) => key('alias', mount, name))
  const items = keysOf.length > 0 ? await call.ports.store.read(keysOf) : []
  return pointers.flatMap(({ sk }, index): [string, Alias][] => {
    const item = items[index]
    return item ? [[sk, item.data]] : []
  })
}

/** Handles LIST identity/entity/id and LIST identity/entity-alias/id. Returns the IDs, and the info that clients show. */
export const createIdentityListing =
  (kind: Kind) =>
  async (call: Call<typeof listFields>): Promise<CallOutcome> => {
    const found = await call.ports.store.list(itemPartitions(kind), readPageParameters(call.parameters))
    const infoOf = kind === 'entity' ? entityInfo : aliasInfo
    const info = (await aliasesBehind(call, found)).map(([id, alias]) => [id, infoOf(alias, call.mounts)])
    return answer(
      keyListAnswer(
        found.map(({ sk }) => sk),
        Object.fromEntries(info),
      ),
    )
  }

/** Handles POST identity/lookup/entity. Returns 204 if no entity matches. */
export async function lookupEntity(call: Call<typeof entityLookupFields>): Promise<CallOutcome> {
  const { id, alias_id: aliasId, alias_name: name, alias_mount_accessor: mount } = call.parameters
  const { store } = call.ports
  if (!id && !aliasId && !(name && mount)) {
    if (!call.parameters.name)
      throw invalidRequestError('give id, name, alias_id, or alias_name with alias_mount_accessor')
    return lookupByName(call, call.parameters.name)
  }
  const [pointer] = id
    ? await store.read([key('entity', id)])
    : aliasId
      ? await store.read([key('alias-id', aliasId)])
      : []
  const place = pointer?.data ?? (name && mount ? { name, mount } : undefined)
  const [item] = place ? await store.read([key('alias', place.mount, place.name)]) : []
  return answer(item ? dataAnswer(entityAnswer(item.data, call.mounts)) : { kind: 'nothing' })
}

// entity names have no index, so all entities are searched
async function lookupByName(call: Call, name: string): Promise<CallOutcome> {
  const all = await aliasesBehind(call, await call.ports.store.list(itemPartitions('entity'), {}))
  const found = all.find(([, { entityName }]) => entityName === name)?.[1]
  return answer(found ? dataAnswer(entityAnswer(found, call.mounts)) : { kind: 'nothing' })
}

const entityInfo = (alias: Alias, mounts: MountTable): Record<string, unknown> => {
  const { id, name, mount_accessor, mount_path, mount_type } = aliasAnswer(alias, mounts)
  return { name: alias.entityName, aliases: [{ id, name, mount_accessor, mount_path, mount_type }] }
}

const aliasInfo = (alias: Alias, mounts: MountTable): Record<string, unknown> => {
  const { name, canonical_id, mount_accessor, mount_path, mount_type, local } = aliasAnswer(alias, mounts)
  return { name, canonical_id, mount_accessor, mount_path, mount_type, local }
}

const entityAnswer = (alias: Alias, mounts: MountTable): Record<string, unknown> => ({
  id: alias.entityId,
  name: alias.entityName,
  disabled: alias.disabled,
  policies: alias.policies,
  metadata: alias.entityMetadata,
  creation_time: formatTime(alias.createdAt),
  last_update_time: formatTime(alias.updatedAt),
  aliases: [aliasAnswer(alias, mounts)],
  group_ids: [],
  direct_group_ids: [],
  inherited_group_ids: [],
  merged_entity_ids: null,
  namespace_id: 'root',
})

function aliasAnswer(alias: Alias, { mounts }: MountTable): Record<string, unknown> {
  const mount = mounts.find(one => one.accessor === alias.mount)
  return {
    id: alias.aliasId,
    canonical_id: alias.entityId,
    name: alias.name,
    metadata: alias.metadata,
    mount_accessor: alias.mount,
    mount_path: mount ? `auth/${mount.path}/` : '',
    mount_type: mount?.type ?? '',
    creation_time: formatTime(alias.createdAt),
    last_update_time: formatTime(alias.updatedAt),
    local: false,
    namespace_id: 'root',
  }
}
