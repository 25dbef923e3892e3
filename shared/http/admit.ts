import type { Caller, Fetched } from '../api/call.ts'
import type { Endpoint, Needed } from '../api/endpoint.ts'
import { ApiError } from '../api/errors.ts'
import type { Fields } from '../api/fields.ts'
import { isActive } from '../cluster/record.ts'
import { isMethod, type Mount, type MountTable, mountAt } from '../mounts/mount.ts'
import { type Attempt, type Parameter, permits } from '../policies/access.ts'
import { compileAccess } from '../policies/load.ts'
import { ROOT, sanitisePolicies } from '../policies/names.ts'
import type { Capability } from '../policies/policy.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import { type Item, type Key, type Kind, key } from '../storage/kinds.ts'
import { ancestorsLive } from '../tokens/family.ts'
import { accessorOf, isRoot, type Token } from '../tokens/token.ts'
import { type Alive, authenticate, present, takeUse } from './authenticate.ts'
import type { Intake } from './intake.ts'

/** What the first read of a request brings. */
export interface Base {
  cluster?: ClusterRead
  mounts: MountTable
  tokenItem: Item<'token'> | undefined
  fetched: Fetched
  /** epoch milliseconds */
  now: number
}

const noMounts: MountTable = { mounts: [], removing: [] }

/** One batch read: cluster record, mounts, the caller's token, and what the endpoint prepared for. */
export async function readBase(intake: Intake, ports: Ports): Promise<Base> {
  // a token sent along with a login is not even looked at
  const anonymous = !('miss' in intake.found) && intake.found.endpoint.access.by === 'anyone'
  const token = anonymous ? undefined : present(intake.token)
  const now = ports.clock.now()
  const keys = [key('cluster'), key('mounts'), ...(token?.key ? [token.key] : []), ...intake.keys] as const
  const items = await ports.store.read(keys)
  const fetched = fetchedItems(keys, items)
  const record = fetched.get(key('cluster'))
  if (record) ports.sealer.expect(record.data.keyring)
  return {
    ...(record ? { cluster: { record: record.data, readAt: now } } : {}),
    mounts: fetched.get(key('mounts'))?.data ?? noMounts,
    tokenItem: token?.key && fetched.get(token.key),
    fetched,
    now,
  }
}

function fetchedItems(keys: readonly Key[], items: readonly (Item | undefined)[]): Fetched {
  const nameOf = (one: Key) => `${one.kind}\n${one.pk}\n${one.sk}`
  const found = new Map(keys.map((one, index) => [nameOf(one), items[index]]))
  return {
    has: one => found.has(nameOf(one)),
    get: <K extends Kind>(one: Key<K>) => found.get(nameOf(one)) as Item<K> | undefined,
    keep: (one, item) => {
      found.set(nameOf(one), item)
    },
  }
}

/** Whether this cluster answers at all. Comes before the caller is looked at. @see architecture 8 */
export function checkCluster({ cluster }: Base, serves: Endpoint['serves'] | undefined): void {
  if (serves === 'always') return
  if (!cluster) throw new ApiError('not_initialised')
  if (!isActive(cluster.record)) throw new ApiError('path_disabled')
}

/** The mount that a path names; undefined when there is none of the auth method's types. */
export function mountOf(params: Readonly<Record<string, string>>, { mounts }: Base): Mount | undefined {
  const mount = params['mount'] === undefined ? undefined : mountAt(mounts, params['mount'])
  return mount && isMethod(mount) ? mount : undefined
}

export interface Admitted {
  caller: Caller
  subject: Item | undefined
}

/**
 * Who calls. On the first attempt one of the token's limited uses is taken, whatever comes of the request.
 * @param before what the attempt before found
 * @throws ApiError `permission_denied`
 */
export async function identify(
  intake: Intake,
  base: Base,
  ports: Ports,
  before: Alive | undefined,
): Promise<Alive> {
  if (before?.spent) return before
  const presented = await present(intake.token)?.open(ports.sealer)
  const alive = authenticate(presented, base.tokenItem, {
    mounts: base.mounts,
    source: intake.facts.source,
    now: base.now,
  })
  return before || !base.cluster ? alive : takeUse(alive, base.cluster, ports)
}

/**
 * Whether the caller may: its policies and entity, its ancestors, and the endpoint's subject in one read.
 * @throws ApiError `permission_denied`
 */
export async function authorise(
  endpoint: Endpoint,
  intake: Intake,
  alive: Alive,
  { mounts, mount }: { mounts: MountTable; mount: Mount | undefined },
  ports: Ports,
): Promise<Admitted> {
  const params = 'miss' in intake.found ? {} : intake.found.params
  const known = !('mount' in params) || mount !== undefined
  const subjectKey = known ? endpoint.subject?.({ mount: mount?.accessor ?? '', params }) : undefined
  const { caller, subject } = await loadCaller(alive, subjectKey, mounts, ports)
  const attempts = attemptsOf(endpoint, intake, subject)
  if (attempts.length > 0 && !attempts.some(one => permits(caller.rights, one))) throw denied('policy')
  return { caller, subject }
}

const denied = (why: string): ApiError => new ApiError('permission_denied', '', { reason: { why } })

/**
 * The caller's rights, from its token's and its entity's policies. Who has lost its entity or an ancestor has none.
 * @throws ApiError `permission_denied`
 */
export async function loadCaller(
  { text, token, item }: Alive,
  subjectKey: Key | undefined,
  mounts: MountTable,
  ports: Ports,
): Promise<Admitted> {
  const policyKeys = isRoot(token) ? [] : token.policies.map(name => key('policy', name))
  const aliasKeys = token.entity ? [key('alias', token.entity.mount, token.entity.alias)] : []
  const keys = [...policyKeys, ...aliasKeys, ...(subjectKey ? [subjectKey] : [])]
  const items: readonly (Item | undefined)[] = keys.length > 0 ? await ports.store.read(keys) : []
  const alias = items[policyKeys.length] as Item<'alias'> | undefined
  const entity = aliasKeys.length > 0 ? alias?.data : undefined
  if (token.entity && entity?.entityId !== token.entity.id) throw denied('entity-gone')
  if (entity?.disabled) throw denied('entity-disabled')
  if (!(await ancestorsLive(token, { ports, mounts }))) throw denied('parent-gone')
  const identityPolicies = sanitisePolicies(entity?.policies ?? []).filter(name => name !== ROOT)
  const more = identityPolicies.filter(name => !token.policies.includes(name))
  const stored = [
    ...items.slice(0, policyKeys.length),
    ...(more.length > 0 ? await ports.store.read(more.map(name => key('policy', name))) : []),
  ]
  const caller: Caller = {
    token,
    ...(item ? { item } : {}),
    accessor: accessorIn(token),
    text,
    rights: compileAccess([...token.policies, ...more], stored as (Item<'policy'> | undefined)[]),
    identityPolicies,
  }
  return { caller, subject: subjectKey ? items.at(-1) : undefined }
}

const accessorIn = (token: Readonly<Token>): string => (token.hash === '' ? '' : accessorOf(token.hash))

/** What the caller has to be allowed one of; nothing where anybody may call. */
function attemptsOf(
  { access, fields }: Endpoint,
  { facts, raw }: Intake,
  subject: Item | undefined,
): Attempt[] {
  if (access.by === 'anyone') return []
  return capabilitiesFor(access.capability, subject).map(capability => ({
    path: facts.path,
    capability,
    ...(access.sudo ? { sudo: true } : {}),
    ...(facts.operation === 'write' ? { parameters: namedParameters(fields, raw) } : {}),
    ...(facts.wrapTtl === undefined ? {} : { wrapTtl: facts.wrapTtl }),
  }))
}

function capabilitiesFor(needed: Needed, subject: Item | undefined): Capability[] {
  if (needed === 'create-or-update') return ['create', 'update']
  return [needed === 'by-existence' ? (subject ? 'update' : 'create') : needed]
}

// A rule about a parameter counts under its old name too (auth-behaviour 9.6, 6).
function namedParameters(fields: Fields, raw: Readonly<Record<string, unknown>>): Parameter[] {
  const current = (name: string): string | undefined =>
    Object.entries(fields).find(([, field]) => field.formerly === name)?.[0] ??
    (Object.hasOwn(fields, `token_${name}`) ? `token_${name}` : undefined)
  return Object.entries(raw).map(([name, value]) => ({
    names: [name, current(name)].filter(one => one !== undefined),
    value,
  }))
}
