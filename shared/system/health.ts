import { type AlwaysServedCall, type Answer, answer, type CallOutcome, type EarlyCall } from '../api/call.ts'
import { type JournalAndTreeView, prefetchJournalView, readJournalView } from '../api/early-look.ts'
import { invalidRequestError } from '../api/errors.ts'
import { boolField, textField } from '../api/fields.ts'
import {
  type ClusterMode,
  type ClusterRecord,
  isActiveRecord,
  isCopyOfPrimary,
  linkAddressOf,
} from '../model/cluster.ts'
import { newestEntryTime } from '../model/link.ts'
import type { Deployment } from '../ports.ts'
import { key } from '../storage/kinds.ts'
import { tryOpenKeyring } from './keyring.ts'
import { describeLicenceForHealth } from './license-status.ts'

/** Request parameters that override the HTTP status of a situation. @see docs/spec/cluster.md#health */
export const healthFields = {
  uninitcode: textField('Status when not initialised; default 501'),
  sealedcode: textField(
    'Status of an active cluster whose keyring KMS does not unwrap, if that is checked; default 503',
  ),
  removedcode: textField('Accepted for compatibility'),
  drsecondarycode: textField('Status of a DR secondary; default 472'),
  haunhealthycode: textField('Accepted for compatibility: there are no standby nodes'),
  performancestandbycode: textField('Accepted for compatibility: there are no standby nodes'),
  standbycode: textField('Accepted for compatibility: there are no standby nodes'),
  activecode: textField('Status of an active cluster; default 200'),
  standbyok: boolField('Accepted for compatibility'),
  perfstandbyok: boolField('Accepted for compatibility'),
}

const situations = {
  uninitialised: { status: 501, override: 'uninitcode' },
  secondary: { status: 472, override: 'drsecondarycode' },
  changing: { status: 503, override: undefined },
  sealed: { status: 503, override: 'sealedcode' },
  active: { status: 200, override: 'activecode' },
} as const

/** The state of the journal's head that health needs. */
type Journaling = Pick<JournalAndTreeView['head'] & {}, 'mode' | 'last' | 'stagedAt'>

function situationOf(
  record: ClusterRecord | undefined,
  head: Journaling | undefined,
  deployment: Pick<Deployment, 'home'>,
): keyof typeof situations {
  if (!record) return 'uninitialised'
  if (record.mode === 'bootstrapping') return 'changing'
  if (isCopyOfPrimary(record, deployment)) return 'changing'
  // a primary without a writing head has ended its epoch or not begun it, so another cluster may be serving already
  if (record.mode === 'primary' && head && head.mode !== 'writing') return 'changing'
  return isActiveRecord(record) ? 'active' : 'secondary'
}

const keepsHead = (mode: ClusterMode | undefined): boolean => mode === 'primary' || mode === 'secondary'

/** Reads a secondary's last contact and the head of the journal with the request's first read. */
export const prepareHealth = async ({ ports }: Pick<EarlyCall, 'ports'>) => ({
  keys: [key('contact')] as const,
  ...prefetchJournalView(ports, ({ mode }) => (keepsHead(mode) ? { treeId: undefined } : undefined)),
})

/** Handles GET and HEAD sys/health, for load balancers and monitors. @see docs/spec/cluster.md#health */
export async function showHealth(call: AlwaysServedCall<typeof healthFields>): Promise<CallOutcome> {
  const bad = Object.entries(call.parameters).find(
    ([name, value]) => name.endsWith('code') && !/^[2-5]\d\d$/.test(String(value ?? '')),
  )
  if (bad) throw invalidRequestError(`${bad[0]} must be an HTTP status`)
  const record = call.cluster?.record
  const { head } = keepsHead(record?.mode) ? await readJournalView(call, undefined) : {}
  const situation = situationOf(record, head, call.ports.deployment)
  const sealed = situation === 'active' && record !== undefined && (await isSealed(call, record))
  const { status, override } = situations[sealed ? 'sealed' : situation]
  const wanted = override === undefined ? undefined : call.parameters[override]
  const body = { ...healthOf(call, record, head), sealed }
  return answer({ kind: 'plain', status: Number(wanted ?? status), body })
}

/** Milliseconds for which an environment caches KMS's answer, because anyone may request health at any rate. */
const KEYRING_ANSWER_AGE_MS = 10_000

/**
 * Reports whether KMS fails to unwrap the keyring, so that every new function would fail. Checked only if the deployment sets
 * `healthChecksKeyring`.
 */
async function isSealed(
  { ports, now }: Pick<AlwaysServedCall, 'ports' | 'now'>,
  record: ClusterRecord,
): Promise<boolean> {
  const { deployment, memory, cipher, log } = ports
  if (!deployment.healthChecksKeyring) return false
  if (memory.keyring && now - memory.keyring.at < KEYRING_ANSWER_AGE_MS && now >= memory.keyring.at)
    return !memory.keyring.opens
  const opened = await tryOpenKeyring(cipher, record)
  memory.keyring = { at: now, opens: opened.ok }
  if (!opened.ok) log.error('the keyring does not open', { why: opened.fault })
  return !opened.ok
}

function healthOf(
  { ports, now, fetched }: AlwaysServedCall<typeof healthFields>,
  record: ClusterRecord | undefined,
  head: Journaling | undefined,
): Record<string, unknown> {
  const contact = record?.mode === 'secondary' ? fetched.get(key('contact'))?.data : undefined
  const canaryAt = contact ? newestEntryTime(contact, head) : 0
  const license = describeLicenceForHealth(ports.deployment)
  return {
    initialized: record !== undefined,
    standby: false,
    performance_standby: false,
    replication_performance_mode: 'disabled',
    replication_dr_mode: record?.mode ?? 'disabled',
    server_time_utc: Math.floor(now / 1000),
    version: ports.deployment.apiVersion,
    product_version: ports.deployment.version,
    enterprise: true,
    cluster_name: record?.name ?? ports.deployment.clusterName,
    cluster_id: record?.id ?? '',
    ...(head && record?.mode === 'primary' ? { last_wal: head.last } : {}),
    echo_duration_ms: contact?.roundTripMs ?? 0,
    clock_skew_ms: contact?.skewMs ?? 0,
    replication_primary_canary_age_ms:
      contact && canaryAt > 0 ? Math.max(0, now - (canaryAt - contact.skewMs)) : 0,
    ...(license ? { license } : {}),
  }
}

/**
 * Handles GET sys/seal-status. An initialised cluster is never sealed, because KMS holds the key.
 * @see docs/spec/cluster.md#seal-status
 */
export async function showSealStatus(call: AlwaysServedCall): Promise<CallOutcome> {
  const record = call.cluster?.record
  const [recovery] = record ? await call.ports.store.read([key('recovery-key')]) : [undefined]
  return answer({
    kind: 'plain',
    status: 200,
    body: {
      type: 'awskms',
      initialized: record !== undefined,
      sealed: record === undefined,
      t: recovery?.data.threshold ?? 0,
      n: recovery?.data.shares ?? 0,
      progress: 0,
      nonce: '',
      version: call.ports.deployment.apiVersion,
      product_version: call.ports.deployment.version,
      build_date: '',
      migration: false,
      recovery_seal: true,
      recovery_seal_type: 'shamir',
      storage_type: 'dynamodb',
      ...(record ? { cluster_name: record.name, cluster_id: record.id } : {}),
    },
  })
}

/** Handles GET sys/leader. A cluster has no nodes, so it reports itself as leader. `leader_cluster_address` is the address of its link. */
export const readLeader = ({ request, cluster, ports: { deployment } }: AlwaysServedCall): CallOutcome => {
  const scheme = deployment.plainEndpoints ? 'http' : 'https'
  const asked = request.domain === '' ? '' : `${scheme}://${request.domain}`
  const address = deployment.apiAddress || asked
  return answer(leaderOf(address, linkAddressOf(cluster?.record ?? {}, deployment) || asked))
}

const leaderOf = (address: string, ofLink: string): Answer => ({
  kind: 'plain',
  status: 200,
  body: {
    ha_enabled: true,
    is_self: true,
    leader_address: address,
    leader_cluster_address: ofLink,
    performance_standby: false,
    performance_standby_last_remote_wal: 0,
  },
})

/** Handles GET sys/init: returns whether the cluster is initialised. */
export const showInitStatus = (call: AlwaysServedCall): CallOutcome =>
  answer({ kind: 'plain', status: 200, body: { initialized: call.cluster !== undefined } })
