import { countOf, spanOf } from '../values/words.ts'
import type { ClusterAnswer, ClusterStatus, ObservedCluster } from './status.ts'

export type Severity = 'good' | 'busy' | 'bad' | 'unknown'

/** The state of one cluster. `sentence`: what is the case, and what should be or be done. */
export interface ClusterCondition {
  state: ClusterState
  severity: Severity
  title: string
  sentence: string
}

type Fits = (status: ClusterStatus, answer: ClusterAnswer) => boolean
type Sentence = string | ((status: ClusterStatus) => string)
interface Row {
  severity: Severity
  title: string
  sentence: Sentence
  fits: Fits
}
const rowOf =
  (severity: Severity) =>
  (title: string, sentence: Sentence, fits: Fits): Row => ({ severity, title, sentence, fits })
const [good, busy, bad] = [rowOf('good'), rowOf('busy'), rowOf('bad')]

/** A quiet journal gets an entry every ten seconds; a secondary whose newest entry is older than this is late. */
const OLD_CANARY_MS = 15_000
/** Largest lag in seconds at which the promotion checks let a planned switch through. */
const LARGEST_LAG_S = 5

const ageOf = ({ primary }: ClusterStatus): number => primary?.canaryAge_ms ?? 0
const ongoing = ({ faults }: ClusterStatus) => faults.filter(one => one.ongoing)
const connected = ({ secondaries }: ClusterStatus) => secondaries.filter(one => one.isConnected)
const missing = ({ secondaries }: ClusterStatus) =>
  secondaries.filter(one => !one.isConnected && !one.isExpired)

/** Operations over the tree change no role. */
const TREE_WORK = ['merkle-check', 'reindex']
/** Reports whether an operation is under way that changes the role. */
export const changesRole = ({ operation }: ClusterStatus): boolean =>
  operation !== undefined && !TREE_WORK.includes(operation.name)

/** What fails, and what should be done, by the part that `recent_faults` names. */
const FAILS: Readonly<Record<string, string>> = {
  keyring:
    'KMS does not decrypt its keyring. The KMS key should be enabled, and its functions allowed to use it.',
  logins: 'Logins fail, and should succeed: the log of their function tells why.',
  audit: 'Its audit log cannot be written, so that it refuses requests. There should be room for it.',
  storage: 'Its tables do not answer, and should.',
}
const faultSentence = ({ part, text, last }: ClusterStatus['faults'][number]): string =>
  `${Object.hasOwn(FAILS, part) ? FAILS[part] : `${part} fails.`} Last at ${last}: ${text}.`

/** States that follow from what a cluster answers. It is in the first that fits. */
const ofAny = {
  uninitialised: bad(
    'Not initialised',
    'It has no keys and no data. It should be initialised once, by who may invoke its function.',
    (_, { isInitialised }) => !isInitialised,
  ),
  corrupted: bad(
    'Differs from what it should hold',
    'A check has found its tree wrong, or items keep differing from those of its primary. It should be reindexed: that finds and fetches what differs.',
    ({ isCorrupted }) => isCorrupted,
  ),
  bootstrapping: busy(
    'Becomes a secondary',
    'Its own data are being deleted, and then it fetches those of its primary. It should be a secondary within minutes; until then it cannot take over.',
    ({ mode }) => mode === 'bootstrapping',
  ),
  changing: busy(
    'Changes its role',
    ({ operation }) =>
      `The operation ${operation?.name} is under way, at the step ${operation?.step}. It should be over within a minute; nobody should begin another one.`,
    changesRole,
  ),
  failing: bad(
    'Serves, and fails',
    status => ongoing(status).map(faultSentence).join(' '),
    status => ongoing(status).length > 0 && status.mode !== 'secondary',
  ),
  disabled: good(
    'Serves, and is of no set',
    'It serves clients, and no other cluster has what it holds. It should be the primary of a DR set if its loss must not be the end.',
    ({ mode }) => mode === 'disabled',
  ),
}
const ofPrimary = {
  closed: bad(
    'Primary that takes no requests',
    'It is a primary, and does not serve: its journal has ended or is not open yet, or its keyring does not open. It should serve again, or another cluster should have taken over.',
    ({ state }, { health }) => state !== 'running' || health !== 200,
  ),
  alone: bad(
    'Primary without a secondary',
    ({ secondaries }) =>
      `It serves clients, and no secondary is connected (${countOf(secondaries.length, 'is', 'are')} known). One should be: what is written now would be lost with this cluster.`,
    status => connected(status).length === 0,
  ),
  'one-missing': bad(
    'Primary without one of its secondaries',
    status =>
      `It serves clients, and ${missing(status)
        .map(one => one.name)
        .join(', ')} of its secondaries is not connected. It should be connected, or revoked if it is gone.`,
    status => missing(status).length > 0,
  ),
  serving: good(
    'Primary',
    status =>
      `It serves clients, and sends what they write to ${countOf(connected(status).length, 'secondary', 'secondaries')}. That is as it should be.`,
    () => true,
  ),
}
const ofSecondary = {
  'activation-failed': bad(
    'Did not become a secondary',
    ({ activationError }) =>
      `Its activation has failed: ${activationError}. It should be disabled, and then enabled by a new token.`,
    ({ activationError }) => activationError !== '',
  ),
  'follows-nobody': bad(
    'Secondary that follows nobody',
    'It serves nobody, and gets nothing. It should follow the present primary (update-primary), or be promoted if there is none.',
    ({ hasPrimary }) => !hasPrimary,
  ),
  'cut-off': bad(
    'Secondary that does not hear its primary',
    ({ primary }) =>
      `Its primary ${primary?.lastHeartbeatAt === undefined ? 'has never answered' : 'does not answer any more'}. It should hear from it every ten seconds: see whether the primary is well, before anybody promotes this cluster.`,
    ({ connection }) => connection !== 'ready',
  ),
  syncing: busy(
    'Secondary that fetches everything',
    'It fetches the items that differ from those of its primary. It should stream again once they are here; until then it should not take over.',
    ({ state }) => state === 'merkle-sync',
  ),
  comparing: busy(
    'Secondary that compares',
    'It compares what it has with its primary. It should stream, or fetch what differs, within a minute.',
    ({ state }) => state === 'merkle-diff',
  ),
  stuck: bad(
    'Secondary that stands still',
    'It hears from its primary, and does not apply what comes. It should stream: its log tells why it does not, and secondary/recover tries again.',
    ({ state }) => state !== 'stream-wals',
  ),
  behind: busy(
    'Secondary that is behind',
    status =>
      `What it has is ${spanOf(ageOf(status))} old. It should be at most ${LARGEST_LAG_S} s behind: until then a planned switch is refused.`,
    status => ageOf(status) > OLD_CANARY_MS,
  ),
  'not-ready': bad(
    'Secondary that could not take over',
    ({ readiness }) =>
      `It follows its primary, but could not take over: ${readiness?.refused_by.join(', ')}. It should be able to: its readiness says what is in the way.`,
    ({ readiness }) => readiness?.ready === false,
  ),
  streaming: good(
    'Secondary',
    'It serves nobody, has what its primary has written, and can take over. That is as it should be.',
    () => true,
  ),
}

const rows = { ...ofAny, ...ofPrimary, ...ofSecondary }
export type ClusterState = keyof typeof rows | 'unreachable' | 'unclear' | 'asking' | 'unknown'
/** States that follow from what a cluster answers. */
export const clusterStates = Object.keys(rows) as readonly ClusterState[]

/** Classifies a cluster by its last answer, or by there being none. */
export function classifyCluster({ answer, silent }: ObservedCluster): ClusterCondition {
  if (silent)
    return {
      state: silent.answered === 'nothing' ? 'unreachable' : 'unclear',
      severity: 'bad',
      title: silent.answered === 'oddly' ? 'Does not answer as a cluster does' : 'Cannot be reached',
      sentence: `It cannot be asked from here: ${silent.why}. It should answer within a second. ${answer ? 'What is shown below is its last answer.' : 'It has not answered so far.'} That it cannot be asked from here does not say that clients cannot reach it.`,
    }
  if (!answer)
    return {
      state: 'asking',
      severity: 'unknown',
      title: 'Not heard yet',
      sentence: 'It has been asked, and has not answered yet. It should within a second.',
    }
  const { status } = answer
  const ofMode = status.mode === 'primary' ? ofPrimary : status.mode === 'secondary' ? ofSecondary : {}
  const found = Object.entries<Row>({ ...ofAny, ...ofMode }).find(([, { fits }]) => fits(status, answer))
  if (!found)
    return {
      state: 'unknown',
      severity: 'unknown',
      title: 'Says something unknown',
      sentence: `It says a mode that is not known here (${status.mode}). It should be of the same version as this program.`,
    }
  const [state, { severity, title, sentence }] = found
  const text = typeof sentence === 'string' ? sentence : sentence(status)
  return { state: state as ClusterState, severity, title, sentence: text }
}
