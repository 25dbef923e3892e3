import type { FetchedItems } from '../api/call.ts'
import { identifyingCapability, takesOperationToken } from '../api/endpoint.ts'
import { isActiveRecord } from '../model/cluster.ts'
import { findMountByPath, isAuthMethodMount, type MountTable } from '../model/mount.ts'
import type { ClusterRead, ItemsOfKeys, Ports } from '../ports.ts'
import { type Item, type Key, type Kind, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'
import { type PresentedToken, readPresentedToken } from './authenticate.ts'
import type { RequestIntake } from './intake.ts'

/** The result of the first read of a request. */
export interface FirstRead {
  cluster?: ClusterRead
  mounts: MountTable
  /** The token of the request, parsed once: the HMAC of a token with a chosen ID needs the keyring. */
  presented: () => Promise<PresentedToken | undefined>
  tokenItem: Item<'token'> | undefined
  /** the term that encrypted the caller's batch token */
  termItem?: Item<'term'> | undefined
  fetched: FetchedItems
  /** epoch milliseconds */
  now: number
}

const noMounts: MountTable = { mounts: [], removing: [] }

/** Returns the mount in the path; undefined unless it exists and is of the auth method's types. */
export function findMount(
  pathParameters: Readonly<Record<string, string>>,
  { mounts }: Pick<FirstRead, 'mounts'>,
) {
  const mount =
    pathParameters['mount'] === undefined ? undefined : findMountByPath(mounts, pathParameters['mount'])
  return mount && isAuthMethodMount(mount) ? mount : undefined
}

/**
 * Reads in one batch: the cluster record, the revision of the mounts, the caller's token, the keyring in a new
 * environment, and the keys of this attempt. The dispatcher reads the mount table only if the environment does not
 * have this revision. A request that is rejected anyway reads one small item.
 */
export async function readFirst(
  intake: RequestIntake,
  more: readonly Key[],
  ports: Ports,
): Promise<FirstRead> {
  let read: Promise<PresentedToken | undefined> | undefined
  const presented = () => {
    read ??= readPresentedToken(intake.token, ports.cipher)
    return read
  }
  if (isRefusedAnyway(intake)) return { ...(await recordOnly(ports)), presented }
  const nowhere = await atNoMount(intake, ports)
  if (nowhere) return { ...nowhere, presented }
  const token = isStranger(intake) ? undefined : await presented()
  const now = ports.clock.now()
  const table = ports.memory.mounts ? [] : [key('mounts')]
  const own = [token?.key, token?.term].filter(one => one !== undefined)
  const keyring = ports.cipher.keysToRead()
  const keys = [key('cluster'), key('mounts-revision'), ...table, ...keyring, ...own, ...more]
  const items = await (intake.read ?? ports.store.read)(keys)
  const found = fetchedItems(
    keys.map((one, index) => ({ key: one, item: items[index] })),
    ports.store,
  )
  const record = found.get(key('cluster'))
  const asked = more.map(one => ({ key: one, item: found.get(one) }))
  return {
    ...noted(record, now, ports, keyring[0] && found.get(keyring[0])),
    mounts: record ? await mountsIn(found, ports) : noMounts,
    presented,
    tokenItem: token?.key && found.get(token.key),
    termItem: token?.term && found.get(token.term),
    fetched: fetchedItems(asked, ports.store),
    now,
  }
}

/** Reports whether the endpoint ignores tokens, as a login does. */
function isStranger({ match }: RequestIntake): boolean {
  const access = match.kind === 'miss' ? undefined : match.endpoint.access
  return access?.by === 'anyone' && identifyingCapability(access) === undefined
}

type Found = Omit<FirstRead, 'presented'>

/** Reports whether a request is rejected whatever is stored, for example without a token or with an invalid proof. */
function isRefusedAnyway({ match, token, bodyFault, fault, raw }: RequestIntake): boolean {
  if (bodyFault) return true
  if (match.kind === 'miss') return match.open || !token
  const { by } = match.endpoint.access
  if (takesOperationToken(match.endpoint)) return !token && raw['dr_operation_token'] === undefined
  return by === 'anyone' ? fault !== undefined : !token
}

async function recordOnly(ports: Ports): Promise<Found> {
  const now = ports.clock.now()
  const [record] = await ports.store.read([key('cluster')])
  return {
    ...noted(record, now, ports),
    mounts: noMounts,
    tokenItem: undefined,
    fetched: fetchedItems([], ports.store),
    now,
  }
}

/**
 * Reads what rejects an anonymous request at a missing mount: the remembered mount table, if its revision is
 * current. The remembered cluster record only shows that this cluster serves requests.
 */
async function atNoMount({ match }: RequestIntake, ports: Ports): Promise<Found | undefined> {
  const known = ports.memory.mounts
  if (match.kind === 'miss' || match.endpoint.access.by !== 'anyone' || !known) return undefined
  if (match.pathParameters['mount'] === undefined || findMount(match.pathParameters, { mounts: known.table }))
    return undefined
  const now = ports.clock.now()
  const cluster = ports.memory.cluster
  const age = cluster ? now - cluster.readAt : -1
  if (!cluster || age < 0 || age > bounds.RECORD_REREAD_MS || !isActiveRecord(cluster.record))
    return undefined
  const [revision] = await ports.store.read([key('mounts-revision')])
  if (revision?.rev !== known.rev) return undefined
  return { cluster, mounts: known.table, tokenItem: undefined, fetched: fetchedItems([], ports.store), now }
}

/** Remembers the cluster record that was just read. */
function noted(
  record: Item<'cluster'> | undefined,
  readAt: number,
  ports: Ports,
  keyring?: Item<'keyring'>,
): Pick<FirstRead, 'cluster'> {
  if (!record) return {}
  ports.cipher.expectKeyring(record.data, keyring)
  const cluster = { record: record.data, readAt }
  ports.memory.cluster = cluster
  return { cluster }
}

/**
 * Returns the mount table of the revision that was read. One commit writes the mount table and its revision item,
 * so both have the same revision.
 */
async function mountsIn(found: FetchedItems, { memory, store }: Ports): Promise<MountTable> {
  const rev = found.get(key('mounts-revision'))?.rev
  const known = memory.mounts
  if (known && known.rev === rev) return known.table
  const [table] = found.has(key('mounts')) ? [found.get(key('mounts'))] : await store.read([key('mounts')])
  // the table may have changed between the reads; in this case the table is valid now but must not be remembered
  // under this revision
  if (table && table.rev === rev) memory.mounts = { rev, table: table.data }
  return table?.data ?? noMounts
}

function fetchedItems(
  read: readonly { key: Key; item: Item | undefined }[],
  store: Ports['store'],
): FetchedItems {
  const nameOf = (one: Key) => `${one.kind}\n${one.pk}\n${one.sk}`
  const found = new Map(read.map(one => [nameOf(one.key), one]))
  const keep = (one: Key, item: Item | undefined): void => {
    found.set(nameOf(one), { key: one, item })
  }
  return {
    keys: () => [...found.values()].map(one => one.key),
    has: one => found.has(nameOf(one)),
    get: <K extends Kind>(one: Key<K>) => found.get(nameOf(one))?.item as Item<K> | undefined,
    keep,
    read: async <const K extends readonly Key[]>(keys: K) => {
      const missing = keys.filter(one => !found.has(nameOf(one)))
      const items = missing.length > 0 ? await store.read(missing) : []
      for (const [index, one] of missing.entries()) keep(one, items[index])
      return keys.map(one => found.get(nameOf(one))?.item) as ItemsOfKeys<K>
    },
  }
}
