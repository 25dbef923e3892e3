import type { Said, ShownFault } from './said.ts'
import { countOf, spanOf } from './words.ts'

/** What the page knows of a cluster. Times are epoch milliseconds, by the clock of the page. */
export interface StandSeen {
  /** its last word */
  word?: { said: Said; at: number }
  /** the last question came to nothing: when, and why */
  fault?: { at: number; text: string }
}

export type Tone = 'good' | 'busy' | 'bad' | 'unknown'

/** Where a cluster stands: a name of the state, and a sentence that says what is and what should be. */
export interface ClusterStand {
  state: string
  tone: Tone
  title: string
  sentence: string
}

/** Milliseconds after which what a secondary has is too old for a planned switch. */
const LARGEST_LAG_MS = 5000
/** A quiet journal gets an empty entry every ten seconds; what is older than this has not come. */
const OLD_CANARY_MS = 15_000

/** A row of the table of states: the first that fits is where a cluster stands. */
interface Row {
  state: string
  tone: Tone
  title: string
  fits: (said: Said) => boolean
  says: (said: Said) => string
}

const isSecondary = ({ mode }: Said) => mode === 'secondary'
const isPrimary = ({ mode }: Said) => mode === 'primary'
const ongoing = ({ faults }: Said) => faults.filter(one => one.isOngoing)

/** What fails, for the sentence of a cluster. */
const FAILS: Readonly<Record<string, string>> = {
  keyring:
    'KMS does not decrypt its keyring. The KMS key should be enabled, and its functions allowed to use it.',
  logins: 'Logins fail, and should succeed: the log of their function tells why.',
  audit: 'Its audit log cannot be written, so that it refuses requests. There should be room for it.',
  storage: 'Its tables do not answer, and should.',
}
const faultSentence = ({ part, text, last }: ShownFault): string =>
  `${Object.hasOwn(FAILS, part) ? FAILS[part] : `${part} fails.`} Last at ${last}: ${text}.`

const connected = ({ secondaries }: Said) => secondaries.filter(one => one.isConnected)
const ageOf = ({ primary }: Said): number => primary?.canaryAge ?? 0

const rows: readonly Row[] = [
  {
    state: 'uninitialised',
    tone: 'bad',
    title: 'Not initialised',
    fits: said => said.health === 501 || !said.initialized,
    says: () => 'It has no keys and no data. It should be initialised once, by who may invoke its function.',
  },
  {
    state: 'corrupted',
    tone: 'bad',
    title: 'Differs from what it should hold',
    fits: said => said.corrupted,
    says: () =>
      'A check has found its tree wrong, or items keep differing from those of its primary. It should be reindexed: that finds and fetches what differs.',
  },
  {
    state: 'bootstrapping',
    tone: 'busy',
    title: 'Becomes a secondary',
    fits: ({ mode }) => mode === 'bootstrapping',
    says: () =>
      'Its own data are being deleted, and then it fetches those of its primary. It should be a secondary within minutes; until then it cannot take over.',
  },
  {
    state: 'changing',
    tone: 'busy',
    title: 'Changes its role',
    fits: said =>
      said.operation !== undefined &&
      said.operation.name !== 'merkle-check' &&
      said.operation.name !== 'reindex',
    says: ({ operation }) =>
      `The operation ${operation?.name} is under way, at the step ${operation?.step}. It should be over within a minute; nobody should begin another one.`,
  },
  {
    state: 'failing',
    tone: 'bad',
    title: 'Serves, and fails',
    fits: said => ongoing(said).length > 0 && (isPrimary(said) || said.mode === 'disabled'),
    says: said => ongoing(said).map(faultSentence).join(' '),
  },
  {
    state: 'disabled',
    tone: 'good',
    title: 'Serves, and is of no set',
    fits: ({ mode }) => mode === 'disabled',
    says: () =>
      'It serves clients, and no other cluster has what it holds. It should be the primary of a DR set if its loss must not be the end.',
  },
  {
    state: 'closed',
    tone: 'bad',
    title: 'Primary that takes no requests',
    fits: said => isPrimary(said) && (said.state !== 'running' || said.health !== 200),
    says: () =>
      'It is a primary, and does not serve: its journal has ended or is not open yet, or its keyring does not open. It should serve again, or another cluster should have taken over.',
  },
  {
    state: 'alone',
    tone: 'bad',
    title: 'Primary without a secondary',
    fits: said => isPrimary(said) && connected(said).length === 0,
    says: ({ secondaries }) =>
      `It serves clients, and no secondary is connected (${countOf(secondaries.length, 'is', 'are')} known). One should be: what is written now would be lost with this cluster.`,
  },
  {
    state: 'serving',
    tone: 'good',
    title: 'Primary',
    fits: isPrimary,
    says: said =>
      `It serves clients, and sends what they write to ${countOf(connected(said).length, 'secondary', 'secondaries')}. That is as it should be.`,
  },
  {
    state: 'activation-failed',
    tone: 'bad',
    title: 'Did not become a secondary',
    fits: said => said.activationError !== '',
    says: ({ activationError }) =>
      `Its activation has failed: ${activationError}. It should be disabled, and then enabled by a new token.`,
  },
  {
    state: 'follows-nobody',
    tone: 'bad',
    title: 'Secondary that follows nobody',
    fits: said => isSecondary(said) && said.primary === undefined,
    says: () =>
      'It serves nobody, and gets nothing. It should follow the present primary (update-primary), or be promoted if there is none.',
  },
  {
    state: 'cut-off',
    tone: 'bad',
    title: 'Secondary that does not hear its primary',
    fits: said => isSecondary(said) && said.connection !== 'ready',
    says: ({ primary }) =>
      `Its primary ${primary?.heardAt === undefined ? 'has never answered' : 'does not answer any more'}. It should hear from it every ten seconds: see whether the primary is well, before anybody promotes this cluster.`,
  },
  {
    state: 'syncing',
    tone: 'busy',
    title: 'Secondary that fetches everything',
    fits: said => isSecondary(said) && said.state === 'merkle-sync',
    says: () =>
      'It fetches the items that differ from those of its primary. It should stream again once they are here; until then it should not take over.',
  },
  {
    state: 'comparing',
    tone: 'busy',
    title: 'Secondary that compares',
    fits: said => isSecondary(said) && said.state === 'merkle-diff',
    says: () =>
      'It compares what it has with its primary. It should stream, or fetch what differs, within a minute.',
  },
  {
    state: 'stuck',
    tone: 'bad',
    title: 'Secondary that stands still',
    fits: said => isSecondary(said) && said.state !== 'stream-wals',
    says: () =>
      'It hears from its primary, and does not apply what comes. It should stream: its log tells why it does not, and secondary/recover tries again.',
  },
  {
    state: 'behind',
    tone: 'busy',
    title: 'Secondary that is behind',
    fits: said => isSecondary(said) && ageOf(said) > OLD_CANARY_MS,
    says: said =>
      `What it has is ${spanOf(ageOf(said))} old. It should be at most ${LARGEST_LAG_MS / 1000} s behind: until then a planned switch is refused.`,
  },
  {
    state: 'streaming',
    tone: 'good',
    title: 'Secondary',
    fits: isSecondary,
    says: () =>
      'It serves nobody, has what its primary has written, and can take over. That is as it should be.',
  },
]

/** The states that clusters of themselves can be in, in the order in which they are looked for. */
export const states: readonly string[] = rows.map(({ state }) => state)

/** Where a cluster stands by its own word, or that there is none. */
export function clusterStandOf({ word, fault }: StandSeen): ClusterStand {
  if (fault && (!word || fault.at >= word.at)) {
    const last = word ? 'What is shown below is its last word.' : 'It has not said a word so far.'
    return {
      state: 'unreachable',
      tone: 'bad',
      title: 'Cannot be reached',
      sentence: `This page cannot reach it: ${fault.text}. It should answer within a second. ${last} That the page cannot reach it does not say that clients cannot.`,
    }
  }
  if (!word)
    return {
      state: 'asking',
      tone: 'unknown',
      title: 'Not heard yet',
      sentence: 'It has been asked, and has not answered yet. It should within a second.',
    }
  const row = rows.find(({ fits }) => fits(word.said))
  if (!row)
    return {
      state: 'unknown',
      tone: 'unknown',
      title: 'Says something unknown',
      sentence: `It says a mode that this page does not know (${word.said.mode}). It should be of the same version as this page.`,
    }
  const { state, tone, title } = row
  return { state, tone, title, sentence: row.says(word.said) }
}

/** A word that is not older than the last failure to get one. */
export const freshWord = ({ word, fault }: StandSeen): Said | undefined =>
  word && !(fault && fault.at >= word.at) ? word.said : undefined

/** What both words together come to, in a sentence. @param peer absent: the page knows of no other cluster */
export function pairSentence(own: StandSeen, peer: StandSeen | undefined): { tone: Tone; text: string } {
  const [one, other] = [freshWord(own), peer && freshWord(peer)]
  if (!one)
    return { tone: 'unknown', text: 'This cluster has not answered yet, so nothing is known of the set.' }
  if (!peer)
    return { tone: 'unknown', text: 'This page shows one cluster: no other one is named in its settings.' }
  if (!other)
    return {
      tone: 'bad',
      text: `Only ${one.name || 'this cluster'} can be heard from here. Both should be: look from elsewhere before anybody is promoted.`,
    }
  const primaries = [one, other].filter(isPrimary)
  if (one.set !== '' && other.set !== '' && one.set !== other.set)
    return {
      tone: 'bad',
      text: 'Both are of different sets. They should be of one, or this page should name another cluster.',
    }
  if (primaries.length === 2)
    return {
      tone: 'bad',
      text: 'Both say that they are the primary. One should be: the earlier one closes as soon as it hears of the other.',
    }
  if (primaries.length === 1 && [one, other].some(isSecondary))
    return {
      tone: 'good',
      text: `${primaries[0]?.name} serves, and ${[one, other].find(isSecondary)?.name} is its secondary.`,
    }
  if ([one, other].every(isSecondary))
    return { tone: 'bad', text: 'Both are secondaries, so nobody serves. One should be promoted.' }
  return { tone: 'unknown', text: 'They are no pair of primary and secondary yet. They should be.' }
}
