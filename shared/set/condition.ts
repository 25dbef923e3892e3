import { countOf, spanOf } from '../values/words.ts'
import type { ClusterSeen, ClusterStatus, Word } from './status.ts'

export type Severity = 'good' | 'busy' | 'bad' | 'unknown'

/** The state of one cluster: its name, how bad it is, what is the case, and what should be or be done. */
export interface ClusterCondition {
  state: ClusterState
  severity: Severity
  title: string
  sentence: string
  todo: string
}

/** A quiet journal gets an entry every ten seconds; a secondary whose newest entry is older than this is late. */
const OLD_CANARY_MS = 15_000
/** Largest lag in seconds at which the promotion checks let a planned switch through. */
const LARGEST_LAG_S = 5

const isSecondary = ({ status }: Word) => status.mode === 'secondary'
const isPrimary = ({ status }: Word) => status.mode === 'primary'
const ongoing = ({ faults }: ClusterStatus) => faults.filter(one => one.ongoing)
const connected = ({ secondaries }: ClusterStatus) => secondaries.filter(one => one.isConnected)
const missing = ({ secondaries }: ClusterStatus) =>
  secondaries.filter(one => !one.isConnected && !one.isExpired)
const ageOf = ({ primary }: ClusterStatus): number => primary?.canaryAge_ms ?? 0

/** Operations over the tree change no role. */
const TREE_WORK = ['merkle-check', 'reindex']
/** Whether an operation is under way that changes the role. */
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

/** A row of the table of states: a cluster is in the first that fits. */
interface Row {
  severity: Severity
  title: string
  fits: (word: Word) => boolean
  sentence: (status: ClusterStatus) => string
  todo: string
}

const rows = {
  uninitialised: {
    severity: 'bad',
    title: 'Not initialised',
    fits: ({ isInitialised }) => !isInitialised,
    sentence: () => 'It has no keys and no data.',
    todo: 'It should be initialised once, by who may invoke its function.',
  },
  corrupted: {
    severity: 'bad',
    title: 'Differs from what it should hold',
    fits: ({ status }) => status.isCorrupted,
    sentence: () => 'A check has found its tree wrong, or items keep differing from those of its primary.',
    todo: 'It should be reindexed: that finds and fetches what differs.',
  },
  bootstrapping: {
    severity: 'busy',
    title: 'Becomes a secondary',
    fits: ({ status }) => status.mode === 'bootstrapping',
    sentence: () => 'Its own data are being deleted, and then it fetches those of its primary.',
    todo: 'It should be a secondary within minutes; until then it cannot take over.',
  },
  changing: {
    severity: 'busy',
    title: 'Changes its role',
    fits: ({ status }) => changesRole(status),
    sentence: ({ operation }) =>
      `The operation ${operation?.name} is under way, at the step ${operation?.step}.`,
    todo: 'It should be over within a minute; nobody should begin another one.',
  },
  failing: {
    severity: 'bad',
    title: 'Serves, and fails',
    fits: word => ongoing(word.status).length > 0 && !isSecondary(word),
    sentence: status => ongoing(status).map(faultSentence).join(' '),
    todo: '',
  },
  disabled: {
    severity: 'good',
    title: 'Serves, and is of no set',
    fits: ({ status }) => status.mode === 'disabled',
    sentence: () => 'It serves clients, and no other cluster has what it holds.',
    todo: 'It should be the primary of a DR set if its loss must not be the end.',
  },
  closed: {
    severity: 'bad',
    title: 'Primary that takes no requests',
    fits: word => isPrimary(word) && (word.status.state !== 'running' || word.health !== 200),
    sentence: () =>
      'It is a primary, and does not serve: its journal has ended or is not open yet, or its keyring does not open.',
    todo: 'It should serve again, or another cluster should have taken over.',
  },
  alone: {
    severity: 'bad',
    title: 'Primary without a secondary',
    fits: word => isPrimary(word) && connected(word.status).length === 0,
    sentence: ({ secondaries }) =>
      `It serves clients, and no secondary is connected (${countOf(secondaries.length, 'is', 'are')} known).`,
    todo: 'One should be: what is written now would be lost with this cluster.',
  },
  'one-missing': {
    severity: 'bad',
    title: 'Primary without one of its secondaries',
    fits: word => isPrimary(word) && missing(word.status).length > 0,
    sentence: status =>
      `It serves clients, and ${missing(status)
        .map(({ name }) => name)
        .join(', ')} of its secondaries is not connected.`,
    todo: 'It should be connected, or revoked if it is gone.',
  },
  serving: {
    severity: 'good',
    title: 'Primary',
    fits: isPrimary,
    sentence: status =>
      `It serves clients, and sends what they write to ${countOf(connected(status).length, 'secondary', 'secondaries')}.`,
    todo: 'That is as it should be.',
  },
  'activation-failed': {
    severity: 'bad',
    title: 'Did not become a secondary',
    fits: ({ status }) => status.activationError !== '',
    sentence: ({ activationError }) => `Its activation has failed: ${activationError}.`,
    todo: 'It should be disabled, and then enabled by a new token.',
  },
  'follows-nobody': {
    severity: 'bad',
    title: 'Secondary that follows nobody',
    fits: word => isSecondary(word) && !word.status.hasPrimary,
    sentence: () => 'It serves nobody, and gets nothing.',
    todo: 'It should follow the present primary (update-primary), or be promoted if there is none.',
  },
  'cut-off': {
    severity: 'bad',
    title: 'Secondary that does not hear its primary',
    fits: word => isSecondary(word) && word.status.connection !== 'ready',
    sentence: ({ primary }) =>
      `Its primary ${primary?.heardAt === undefined ? 'has never answered' : 'does not answer any more'}.`,
    todo: 'It should hear from it every ten seconds: see whether the primary is well, before anybody promotes this cluster.',
  },
  syncing: {
    severity: 'busy',
    title: 'Secondary that fetches everything',
    fits: word => isSecondary(word) && word.status.state === 'merkle-sync',
    sentence: () => 'It fetches the items that differ from those of its primary.',
    todo: 'It should stream again once they are here; until then it should not take over.',
  },
  comparing: {
    severity: 'busy',
    title: 'Secondary that compares',
    fits: word => isSecondary(word) && word.status.state === 'merkle-diff',
    sentence: () => 'It compares what it has with its primary.',
    todo: 'It should stream, or fetch what differs, within a minute.',
  },
  stuck: {
    severity: 'bad',
    title: 'Secondary that stands still',
    fits: word => isSecondary(word) && word.status.state !== 'stream-wals',
    sentence: () => 'It hears from its primary, and does not apply what comes.',
    todo: 'It should stream: its log tells why it does not, and secondary/recover tries again.',
  },
  behind: {
    severity: 'busy',
    title: 'Secondary that is behind',
    fits: word => isSecondary(word) && ageOf(word.status) > OLD_CANARY_MS,
    sentence: status => `What it has is ${spanOf(ageOf(status))} old.`,
    todo: `It should be at most ${LARGEST_LAG_S} s behind: until then a planned switch is refused.`,
  },
  'not-ready': {
    severity: 'bad',
    title: 'Secondary that could not take over',
    fits: word => isSecondary(word) && word.status.readiness?.ready === false,
    sentence: ({ readiness }) =>
      `It follows its primary, but could not take over: ${readiness?.refused_by.join(', ')}.`,
    todo: 'It should be able to: its readiness says what is in the way.',
  },
  streaming: {
    severity: 'good',
    title: 'Secondary',
    fits: isSecondary,
    sentence: () => 'It serves nobody, has what its primary has written, and can take over.',
    todo: 'That is as it should be.',
  },
} satisfies Readonly<Record<string, Row>>

export type ClusterState = keyof typeof rows | 'unreachable' | 'unclear' | 'asking' | 'unknown'

/** States that follow from what a cluster says, in the order in which they are tried. */
export const states = Object.keys(rows) as readonly ClusterState[]

/** Classifies a cluster by its last answer, or by there being none. */
export function classifyCluster({ word, silent }: ClusterSeen): ClusterCondition {
  if (silent) {
    const last = word ? 'What is shown below is its last word.' : 'It has not said a word so far.'
    return {
      state: silent.answered === 'nothing' ? 'unreachable' : 'unclear',
      severity: 'bad',
      title: silent.answered === 'oddly' ? 'Does not answer as a cluster does' : 'Cannot be reached',
      sentence: `It cannot be asked from here: ${silent.why}.`,
      todo: `It should answer within a second. ${last} That it cannot be asked from here does not say that clients cannot reach it.`,
    }
  }
  if (!word)
    return {
      state: 'asking',
      severity: 'unknown',
      title: 'Not heard yet',
      sentence: 'It has been asked, and has not answered yet.',
      todo: 'It should within a second.',
    }
  const found = Object.entries<Row>(rows).find(([, { fits }]) => fits(word))
  if (!found)
    return {
      state: 'unknown',
      severity: 'unknown',
      title: 'Says something unknown',
      sentence: `It says a mode that is not known here (${word.status.mode}).`,
      todo: 'It should be of the same version as this program.',
    }
  const [state, { severity, title, sentence, todo }] = found
  return { state: state as ClusterState, severity, title, sentence: sentence(word.status), todo }
}

/** What is the case, and what should be. */
export const sentenceOf = ({ sentence, todo }: ClusterCondition): string =>
  todo === '' ? sentence : `${sentence} ${todo}`
