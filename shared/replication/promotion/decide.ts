import type { JournalHead } from '../../journal/head.ts'
import type { OperationFault } from '../../model/operation.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'
import { ageSince, formatTime } from '../../values/time.ts'

/** The result of a call to the primary. */
export type PrimaryFacts =
  | { readonly state: 'none' }
  /** `lag`: age of the oldest journal entry that is not applied here, milliseconds; `diverged`: the journals have diverged */
  | {
      readonly state: 'answers'
      readonly format: number
      readonly lag: number | 'diverged'
      /** `reported` is the position that the primary reported */
      readonly reported?: PrimaryReport
    }
  | { readonly state: 'refuses'; readonly text: string }
  | {
      readonly state: 'silent'
      /**
       * `lastAnswerAt` is the time of the primary's last answer, epoch milliseconds; absent: the primary has never
       * answered
       */
      readonly lastAnswerAt?: number
      /** `silentMs`: milliseconds of silence that unanswered calls prove; 0 if the primary has never answered */
      readonly silentMs: number
      /** `unsignedAnswer` is an unsigned answer from the primary's address; absent: no such answer came */
      readonly unsignedAnswer?: string
    }

/** The position of a primary. `skew`: by how many milliseconds the primary's clock is ahead. */
export interface PrimaryReport {
  readonly epoch: string
  readonly seq: number
  /** `frontier` is the position below which no journal entry is missing */
  readonly frontier: number
  readonly skew: number
  /** `term` is the id of the term that the primary encrypts with; absent or empty: unknown */
  readonly term?: string
}

/** The facts that decide a promotion, gathered before any change on either cluster. */
export interface PromotionFacts {
  /** `head` is absent if this cluster has never had a journal */
  readonly head:
    | Pick<JournalHead, 'mode' | 'epoch' | 'lineage' | 'last' | 'unfinishedSync' | 'replayUntil'>
    | undefined
  readonly primary: PrimaryFacts
  /** `keyring`: how many of some fields this cluster could decrypt, and the names of the others */
  readonly keyring: {
    readonly opened: number
    readonly failed: readonly string[]
    /** `missing` is the id of the term that the primary encrypts with, if this cluster does not hold that term */
    readonly missing?: string
  }
  /** `corrupted`: whether a check found the tree corrupted, or items keep differing from the primary's */
  readonly corrupted: boolean
  readonly reindexing: boolean
  /**
   * `copied`: whether this cluster's tables are a restored copy of another cluster's, with that cluster's id and
   * key
   */
  readonly copied: boolean
  /** `stuck`: why this cluster cannot apply received entries; absent if it can */
  readonly stuck?: string | undefined
  /** `lastKnownPosition` is the last position that the primary has reported; absent if it has reported none */
  readonly lastKnownPosition?: number | undefined
  /** `jwtLogins`: what the mounts with `config/jwt` allow; absent: there is no such mount */
  readonly jwtLogins?: JwtLoginFacts | undefined
  /** `instanceEvents`: whether the deployment ends tokens with their instances; absent: no */
  readonly instanceEvents?: boolean | undefined
  /** format of journal and link that this version uses */
  readonly format: number
  /** epoch milliseconds at which gathering began */
  readonly now: number
}

/** The settings of `config/jwt`, over all mounts, that decide what a loss of commits means. */
export interface JwtLoginFacts {
  /** longest time for which a token of a mount with `single_use` is accepted, seconds; 0: no mount has `single_use` */
  readonly onceSeconds: number
  /** whether a mount learns issuers */
  readonly learns: boolean
}

/** The decision: `refused` if the promotion must not continue; and warnings for the caller. */
export interface PromotionVerdict {
  readonly refused?: OperationFault
  readonly warnings: readonly string[]
}

/** Reports whether an answering primary has more entries than a secondary may lack. */
export const isBehindPrimary = (primary: PrimaryFacts): boolean =>
  primary.state === 'answers' && primary.lag !== 'diverged' && primary.lag > bounds.LARGEST_LAG_MS

interface Check {
  readonly name: string
  readonly kind: CheckKind
  /** returns the obstacle as text; false or undefined: none */
  readonly finds: (facts: PromotionFacts) => string | false | undefined
}

interface CheckKind {
  readonly code: 'invalid_request' | 'busy'
  /** `overridden`: whether `force` overrides the obstacle */
  readonly overridden: boolean
  /** `retryAfter`: seconds after which the obstacle may be gone; absent: repeating the request alone does not help */
  readonly retryAfter?: number | ((facts: PromotionFacts) => number)
}

/** An obstacle that nothing overrides, and one that `force` overrides. */
const FINAL = { code: 'invalid_request', overridden: false } as const
const UNKNOWN = { code: 'invalid_request', overridden: true } as const
const passing = (retryAfter: CheckKind['retryAfter'] & {}): CheckKind => ({
  code: 'busy',
  overridden: true,
  retryAfter,
})

/**
 * Seconds after which an obstacle may be gone: `soon` by following, `work` after longer work, `mended` after a repair by
 * somebody.
 */
const RETRY_SECONDS = { soon: 5, work: 10, mended: 30 }

const seconds = (ms: number): number => Math.round(ms / 1000)

/**
 * Reports whether a primary has been silent for so long that it counts as lost. If the primary's gateway answers,
 * the primary may still serve clients: the gateway may throttle only the link.
 */
const isLost = (primary: PrimaryFacts & { readonly state: 'silent' }): boolean =>
  primary.unsignedAnswer === undefined && primary.silentMs >= bounds.PRIMARY_LOST_MS

/** Seconds after which a silent primary may answer again. */
const SILENT_RETRY_SECONDS = 15

/** Returns the seconds until a silent primary may answer again, or counts as lost. */
const secondsUntilLost = ({ primary }: PromotionFacts): number => {
  if (primary.state !== 'silent' || primary.unsignedAnswer !== undefined) return SILENT_RETRY_SECONDS
  return Math.min(
    SILENT_RETRY_SECONDS,
    Math.max(1, Math.ceil((bounds.PRIMARY_LOST_MS - primary.silentMs) / 1000)),
  )
}

/** Returns the fault of a keyring that can decrypt no field; undefined if the keyring can decrypt a field. */
export const findKeyringFault = ({ opened, failed }: PromotionFacts['keyring']): string | undefined =>
  opened > 0
    ? undefined
    : `the keyring does not open${failed.length > 0 ? ` (${failed.slice(0, 5).join(', ')})` : ''}: no encrypted field can be read; check that this cluster’s KMS key is enabled, and that this cluster may use the key`

/** All obstacles to a promotion, one row each. @see docs/spec/promotion.md#promotion */
const checks: readonly Check[] = [
  {
    name: 'restored-copy',
    kind: FINAL,
    // two primaries with one id would give their epochs equal names, so nobody could tell their journals apart
    finds: ({ copied }) =>
      copied &&
      'this cluster is a restored copy of another cluster, with the id and the key of the copied cluster; POST sys/replication/dr/secondary/disable makes this cluster an ordinary cluster, which serves clients with its data',
  },
  {
    name: 'first-sync',
    kind: FINAL,
    finds: ({ head }) =>
      !head?.lineage.length &&
      'this cluster has never had all items of its primary, because its first sync has not ended; wait until GET sys/replication/dr/status shows stream-wals, or start again by secondary/disable and secondary/enable',
  },
  {
    name: 'keyring',
    kind: { ...passing(RETRY_SECONDS.mended), overridden: false },
    finds: ({ keyring }) => findKeyringFault(keyring),
  },
  {
    name: 'keyring-terms',
    kind: passing(RETRY_SECONDS.mended),
    finds: ({ keyring: { opened, failed } }) =>
      opened > 0 &&
      failed.length > 0 &&
      `the keyring cannot decrypt some fields: ${failed.slice(0, 5).join(', ')}`,
  },
  {
    name: 'newest-term',
    kind: passing(RETRY_SECONDS.soon),
    finds: ({ keyring: { missing } }) =>
      missing !== undefined &&
      `this cluster does not have the key term ${missing}, with which the primary encrypts: this cluster cannot decrypt data of that term; if the rotation retired older terms, this cluster accepts batch tokens of those terms again`,
  },
  {
    name: 'sync',
    kind: passing(RETRY_SECONDS.work),
    finds: ({ head }) => {
      if (head?.mode === 'syncing') return 'a sync is running (merkle-sync)'
      if (head?.mode === 'draining') return 'a sync is about to begin (merkle-diff)'
      return head && (head.unfinishedSync !== null || head.replayUntil > 0)
        ? `items that a sync has fetched are consistent only from position ${head.replayUntil} on, and this cluster is at ${head.last}`
        : undefined
    },
  },
  {
    name: 'corrupted',
    kind: passing(RETRY_SECONDS.mended),
    finds: ({ corrupted }) =>
      corrupted &&
      'items keep differing from those of the primary, or a check has found the tree of items corrupted: POST sys/replication/dr/secondary/reindex with diff, then sys/replication/dr/secondary/recover, repair these items',
  },
  {
    name: 'reindex',
    kind: passing(RETRY_SECONDS.work),
    finds: ({ reindexing }) => reindexing && 'a reindex is running',
  },
  {
    name: 'stuck',
    kind: passing(RETRY_SECONDS.mended),
    finds: ({ stuck }) =>
      stuck !== undefined &&
      `received journal entries cannot be applied: ${stuck}; POST sys/replication/dr/secondary/recover tries again`,
  },
  {
    name: 'no-primary',
    kind: UNKNOWN,
    finds: ({ primary }) =>
      primary.state === 'none' &&
      'this cluster knows no primary, so the commits that this cluster lacks are unknown; POST sys/replication/dr/secondary/update-primary gives this cluster a primary',
  },
  {
    name: 'not-following',
    kind: passing(RETRY_SECONDS.soon),
    finds: ({ primary, head }) =>
      primary.state !== 'none' &&
      head?.mode === 'closed' &&
      'this cluster was a primary, and has not followed another primary yet; POST sys/replication/dr/secondary/update-primary makes this cluster follow the present primary',
  },
  {
    name: 'refused',
    kind: passing(RETRY_SECONDS.mended),
    finds: ({ primary }) =>
      primary.state === 'refuses' && `the primary answers, and refuses this cluster: ${primary.text}`,
  },
  {
    name: 'silent',
    kind: passing(secondsUntilLost),
    finds: ({ primary, now }) => {
      if (primary.state !== 'silent' || isLost(primary)) return undefined
      if (primary.unsignedAnswer !== undefined)
        return `a server other than the primary answers at the primary’s address, and the primary may still be serving clients: ${primary.unsignedAnswer}`
      return primary.lastAnswerAt === undefined
        ? 'the primary does not answer, and has never answered'
        : `the primary does not answer; it last answered ${seconds(ageSince(primary.lastAnswerAt, now))} s ago; unanswered calls show ${seconds(primary.silentMs)} s of silence, and a promotion without force needs ${bounds.PRIMARY_LOST_MS / 1000} s`
    },
  },
  {
    name: 'lag',
    kind: passing(RETRY_SECONDS.soon),
    finds: ({ primary }) => {
      if (primary.state !== 'answers') return undefined
      if (primary.lag === 'diverged')
        return 'the journals of this cluster and of the primary have diverged (merkle-diff)'
      return (
        isBehindPrimary(primary) &&
        `this cluster is ${seconds(primary.lag)} s behind its primary: more than ${bounds.LARGEST_LAG_MS / 1000} s`
      )
    },
  },
]

/**
 * Describes how much of the primary's journal is known to be missing. This cluster does not know the primary's
 * commits after its last answer.
 */
function missingText({
  head,
  lastKnownPosition,
}: Pick<PromotionFacts, 'head' | 'lastKnownPosition'>): string {
  if (lastKnownPosition === undefined) return ''
  const behind = lastKnownPosition - (head?.last ?? 0)
  return behind > 0
    ? `: at least ${behind} positions up to ${lastKnownPosition}, which the primary’s last answer named, and all later commits`
    : ': all commits after the primary’s last answer, and no earlier commits'
}

/** This cluster cannot list the commits that are lost. The report of the former primary lists the lost commits. */
const REVOCATIONS_LOST =
  'revocations and retirements of terms that the primary committed after that position are lost, so everything that they ended is valid on this cluster again: repeat them on this cluster by POST sys/replication/dr/primary/revoke-secondary and POST sys/rotate with retire=true; once the former primary follows, GET sys/replication/dr/divergence on the former primary lists what was lost'

/** Returns what the lost commits mean for mounts with `config/jwt`. */
function jwtLossesOf({ jwtLogins }: PromotionFacts): string[] {
  if (!jwtLogins) return []
  const { onceSeconds, learns } = jwtLogins
  return [
    ...(onceSeconds > 0
      ? [
          `tokens of AWS that logged in after that position can log in once more on this cluster, for at most ${onceSeconds} s (the longest max_token_age with clock_skew_leeway of a mount)`,
        ]
      : []),
    ...(learns
      ? [
          'issuers that logins learnt after that position are learnt again by the next login of their accounts',
        ]
      : []),
    'blocks of issuers and of accounts that the primary committed after that position are lost: write them again',
  ]
}

const ENDS_LOST =
  'ends of instances that the primary stored after that position are lost until this cluster has asked EC2, which it does within minutes; batch tokens that end with an instance and were issued after that position are refused, so their holders log in again'

/** Returns the warnings of a promotion. */
function warningsOf(facts: PromotionFacts): string[] {
  const { primary, head, format, now } = facts
  const lost = [REVOCATIONS_LOST, ...jwtLossesOf(facts), ...(facts.instanceEvents ? [ENDS_LOST] : [])]
  const at = `${head?.epoch}/${head?.last}`
  if (primary.state === 'silent') {
    const last =
      primary.lastAnswerAt === undefined
        ? 'it has never answered'
        : `it last answered ${seconds(ageSince(primary.lastAnswerAt, now))} s ago, at ${formatTime(primary.lastAnswerAt)}`
    return [
      `the primary does not answer (${last}): this cluster takes over at position ${at}, and lacks the commits after that position${missingText(facts)}`,
      ...lost,
    ]
  }
  if (primary.state === 'refuses' || primary.state === 'none')
    return [`this cluster takes over at position ${at} without a handover by a primary`, ...lost]
  return primary.format < format
    ? [
        `the primary speaks format ${primary.format}, this cluster ${format}: the primary cannot return as a secondary before its upgrade`,
      ]
    : []
}

/** The result of one check of a promotion. */
export interface PromotionCheckResult extends Omit<CheckKind, 'retryAfter'> {
  readonly name: string
  /** `text` is the obstacle; absent: the check passes */
  readonly text?: string
  /** `retryAfter`: seconds after which the obstacle may be gone; absent: it never disappears by itself */
  readonly retryAfter?: number
}

type Obstacle = PromotionCheckResult & { readonly text: string }

/** Runs all checks of a promotion, in their order. */
export const runPromotionChecks = (facts: PromotionFacts): PromotionCheckResult[] =>
  checks.map(({ name, kind: { retryAfter, ...kind }, finds }) => {
    const text = finds(facts)
    if (typeof text !== 'string') return { name, ...kind }
    const seconds = typeof retryAfter === 'function' ? retryAfter(facts) : retryAfter
    return defined({ name, ...kind, text, retryAfter: seconds })
  })

/** Reports whether the promotion must ask the primary to hand over. During a sync no handover is needed. */
export const shouldRequestHandover = ({ primary, head }: PromotionFacts): boolean =>
  primary.state === 'answers' && head?.mode === 'applying'

/**
 * Decides whether a secondary may be promoted. No cluster has changed before this decision, so a refusal leaves
 * both clusters as they were.
 */
export function decidePromotion(
  facts: PromotionFacts,
  { force }: { readonly force: boolean },
): PromotionVerdict {
  const found = runPromotionChecks(facts).filter((check): check is Obstacle => check.text !== undefined)
  const obstacles = found.filter(({ overridden }) => !force || !overridden)
  if (obstacles.length > 0) return { refused: faultOf(obstacles), warnings: [] }
  return { warnings: [...found.map(({ text }) => `overridden by force: ${text}`), ...warningsOf(facts)] }
}

/**
 * Returns one fault for all obstacles to a promotion. The fault has a `Retry-After` only if every obstacle may
 * disappear by itself.
 */
function faultOf(obstacles: readonly Obstacle[]): OperationFault {
  const texts = obstacles.map(({ text }) => text).join('; ')
  const final = obstacles.find(({ overridden }) => !overridden)
  const stays = obstacles.some(({ code }) => code === 'invalid_request')
  const wait = stays ? undefined : Math.max(...obstacles.map(({ retryAfter = 0 }) => retryAfter))
  const again = stays ? 'repeat the request when the obstacle is removed' : 'repeat the request later'
  const next = final ? 'force does not help here' : `${again}, or use force`
  return defined({
    code: final?.code ?? (stays ? 'invalid_request' : 'busy'),
    text: `${texts}; ${next}`,
    retryAfter: wait,
  })
}
