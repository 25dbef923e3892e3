import { clipText, formatCount, formatTimeSpan } from '../values/words.ts'
import type { ClusterAnswer, ClusterStatus, ObservedCluster } from './status.ts'

export type ConditionSeverity = 'good' | 'busy' | 'bad' | 'unknown'

/** The state of one cluster of a set. `sentence` says what the state is, and what the operator should do. */
export interface ClusterCondition {
  state: ClusterState
  severity: ConditionSeverity
  title: string
  sentence: string
}

type Fits = (status: ClusterStatus, answer: ClusterAnswer) => boolean
type Sentence = string | ((status: ClusterStatus) => string)
interface Row {
  severity: ConditionSeverity
  title: string
  sentence: Sentence
  fits: Fits
}
const rowOf =
  (severity: ConditionSeverity) =>
  (title: string, sentence: Sentence, fits: Fits): Row => ({ severity, title, sentence, fits })
const [good, busy, bad] = [rowOf('good'), rowOf('busy'), rowOf('bad')]

/** A primary adds a journal entry every ten seconds. A secondary is late if its newest entry is older than this. */
const OLD_CANARY_MS = 15_000
/** Largest lag in seconds at which a planned switch passes the promotion checks. */
const LARGEST_LAG_S = 5

const ageOf = ({ primary }: ClusterStatus): number => primary?.canaryAge_ms ?? 0
const ongoing = ({ faults }: ClusterStatus) => faults.filter(one => one.ongoing)
const connected = ({ secondaries }: ClusterStatus) => secondaries.filter(one => one.isConnected)
const namesOf = (peers: readonly { name: string }[]): string => peers.map(({ name }) => name).join(', ')
const missing = ({ secondaries }: ClusterStatus) =>
  secondaries.filter(one => !one.isConnected && !one.isExpired)

/** Operations on the Merkle tree, which change no role. */
const TREE_WORK = ['merkle-check', 'reindex']
/** Reports whether an operation that changes the role is running. */
export const isChangingRole = ({ operation }: ClusterStatus): boolean =>
  operation !== undefined && !TREE_WORK.includes(operation.name)

/** The failing part and the operator's remedy, by `part` of `recent_faults`. */
const FAILS: Readonly<Record<string, string>> = {
  keyring: 'KMS cannot unwrap its keyring. Enable the KMS key and allow its functions to use it.',
  logins: 'Logins fail. The log of the login function shows why.',
  audit: 'The cluster cannot write its audit log and therefore rejects requests. Make room for the log.',
  storage: 'The tables of the cluster do not answer.',
}
const faultSentence = ({ part, text, last }: ClusterStatus['faults'][number]): string =>
  `${Object.hasOwn(FAILS, part) ? FAILS[part] : `${part} fails.`} The last fault was at ${last}: ${text}.`

/** States of a cluster, derived from its answer. The first row that matches the answer applies. */
const ofAny = {
  uninitialised: bad(
    'Not initialised',
    'The cluster has no keys and no data. Invoke its init function once.',
    (_, { isInitialised }) => !isInitialised,
  ),
  corrupted: bad(
    'Has wrong data',
    'A check found the cluster’s tree wrong, or items keep differing from the primary. Reindex the cluster: a reindex finds and fetches the items that differ.',
    ({ isCorrupted }) => isCorrupted,
  ),
  bootstrapping: busy(
    'Is becoming a secondary',
    'The cluster deletes its own data and then fetches the data of its primary. The cluster should be a secondary within minutes, and cannot take over before.',
    ({ mode }) => mode === 'bootstrapping',
  ),
  changing: busy(
    'Is changing its role',
    ({ operation }) =>
      `The operation ${operation?.name} is running, at the step ${operation?.step}. The operation should end within a minute. Do not start another operation.${operation?.error ? ` Its last error was: ${operation.error}` : ''}`,
    isChangingRole,
  ),
  failing: bad(
    'Has faults',
    status => ongoing(status).map(faultSentence).join(' '),
    status => ongoing(status).length > 0,
  ),
  disabled: good(
    'Serves, without a DR set',
    'The cluster serves clients, and no other cluster has its data. Make it the primary of a DR set if its data must survive its loss.',
    ({ mode }) => mode === 'disabled',
  ),
}
const ofPrimary = {
  closed: bad(
    'Primary that does not serve',
    'The cluster is a primary and does not serve: its journal has ended or is not open yet, or KMS cannot unwrap its keyring. The cluster should serve again, or another cluster should take over.',
    ({ state }, { health }) => state !== 'running' || health !== 200,
  ),
  alone: bad(
    'Primary without a secondary',
    ({ secondaries }) =>
      `The cluster serves clients, and no secondary is connected (${formatCount(secondaries.length, 'is', 'are')} known). Connect a secondary: until then, losing this cluster loses its latest writes.`,
    status => connected(status).length === 0,
  ),
  'one-missing': bad(
    'Primary without one of its secondaries',
    status =>
      `The cluster serves clients, and ${namesOf(missing(status))} of its secondaries is not connected. Connect that secondary again, or revoke that secondary if it is gone.`,
    status => missing(status).length > 0,
  ),
  serving: good(
    'Primary',
    status =>
      `The cluster serves clients, and replicates their writes to ${formatCount(connected(status).length, 'secondary', 'secondaries')}. All is well.`,
    () => true,
  ),
}
const ofSecondary = {
  'activation-failed': bad(
    'Activation failed',
    ({ activationError }) =>
      `The cluster did not become a secondary: ${activationError}. Disable the cluster, and enable it with a new token.`,
    ({ activationError }) => activationError !== '',
  ),
  'follows-nobody': bad(
    'Secondary without a primary',
    'The cluster does not serve, and receives no entries from a primary. Make the cluster follow the present primary (update-primary), or promote the cluster if the set has no primary.',
    ({ hasPrimary }) => !hasPrimary,
  ),
  'cut-off': bad(
    'Secondary without contact to its primary',
    ({ primary }) =>
      `The primary ${primary?.lastHeartbeatAt === undefined ? 'has never answered' : 'does not answer any more'}. A primary should answer every ten seconds. Check the primary before you promote this cluster.`,
    ({ connection }) => connection !== 'ready',
  ),
  syncing: busy(
    'Secondary that synchronises',
    'The cluster fetches the items that differ from its primary, and streams again afterwards. Until then the cluster should not take over.',
    ({ state }) => state === 'merkle-sync',
  ),
  comparing: busy(
    'Secondary that compares',
    'The cluster compares its items with its primary. Within a minute the cluster should stream, or fetch the items that differ.',
    ({ state }) => state === 'merkle-diff',
  ),
  stuck: bad(
    'Secondary that is stuck',
    'The primary answers, but the cluster does not apply the entries. The log of the cluster shows why; secondary/recover makes the cluster try again.',
    ({ state }) => state !== 'stream-wals',
  ),
  behind: busy(
    'Secondary that is behind',
    status =>
      `The newest entry of the cluster is ${formatTimeSpan(ageOf(status))} old. A planned switch is refused until the cluster is at most ${LARGEST_LAG_S} s behind.`,
    status => ageOf(status) > OLD_CANARY_MS,
  ),
  'not-ready': bad(
    'Secondary that cannot take over',
    ({ readiness }) =>
      `The cluster follows its primary, but cannot take over: ${readiness?.refused_by.join(', ')}. The readiness of the cluster names the obstacles.`,
    ({ readiness }) => readiness?.ready === false,
  ),
  streaming: good(
    'Secondary',
    'The cluster does not serve, has its primary’s writes, and can take over. All is well.',
    () => true,
  ),
}

const rows = { ...ofAny, ...ofPrimary, ...ofSecondary }
export type ClusterState = keyof typeof rows | 'unreachable' | 'unclear' | 'asking' | 'unknown'
/** States derived from a cluster's answer. */
export const clusterStates = Object.keys(rows) as readonly ClusterState[]

/** Classifies a cluster by its last answer, or by its silence. */
export function classifyCluster({ answer, silent }: ObservedCluster): ClusterCondition {
  if (silent)
    return {
      state: silent.answered === 'nothing' ? 'unreachable' : 'unclear',
      severity: 'bad',
      title: silent.answered === 'oddly' ? 'Gives an unexpected answer' : 'Cannot be reached',
      sentence: `The cluster gives no usable answer here: ${clipText(silent.why)}. ${answer ? 'Its last answer is shown below.' : 'The cluster has not answered so far.'} Clients may still be able to reach the cluster.`,
    }
  if (!answer)
    return {
      state: 'asking',
      severity: 'unknown',
      title: 'No answer yet',
      sentence: 'The cluster has not answered yet.',
    }
  const { status } = answer
  const ofMode = status.mode === 'primary' ? ofPrimary : status.mode === 'secondary' ? ofSecondary : {}
  const found = Object.entries<Row>({ ...ofAny, ...ofMode }).find(([, { fits }]) => fits(status, answer))
  if (!found)
    return {
      state: 'unknown',
      severity: 'unknown',
      title: 'Unknown mode',
      sentence: `The mode ${clipText(status.mode)} of the cluster is unknown to this program. The cluster and the program should have the same version.`,
    }
  const [state, { severity, title, sentence }] = found
  const text = typeof sentence === 'string' ? sentence : sentence(status)
  return { state: state as ClusterState, severity, title, sentence: clipText(text) }
}
