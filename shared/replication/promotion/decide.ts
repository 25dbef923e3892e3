import type { Head } from '../../journal/head.ts'
import type { OperationFault } from '../../model/operation.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'
import { ageSince, printTime } from '../../values/time.ts'

/** What this cluster knows of the primary that it follows, from asking it just now. */
export type PrimaryFacts =
  | { readonly state: 'none' }
  /** `lag`: age of the oldest journal entry that is not applied here, milliseconds; `diverged`: it has another journal */
  | {
      readonly state: 'answers'
      readonly format: number
      readonly lag: number | 'diverged'
      /** what it told of itself */
      readonly reported?: PrimaryReport
    }
  | { readonly state: 'refuses'; readonly text: string }
  | {
      readonly state: 'silent'
      /** when it answered last, epoch milliseconds; absent: never */
      readonly lastAnswerAt?: number
      /** milliseconds of silence that unanswered calls show; 0 where it has never answered */
      readonly silentMs: number
      /** an unsigned answer from its address; absent: none */
      readonly unsignedAnswer?: string
    }

/** Where a primary is. `skew`: milliseconds by which its clock is ahead. */
export interface PrimaryReport {
  readonly epoch: string
  readonly seq: number
  /** up to where nothing is missing */
  readonly frontier: number
  readonly skew: number
  /** identity of the term that it encrypts by; absent or empty: it does not tell */
  readonly term?: string
}

/** What a promotion is judged by, before anything has changed on either cluster. */
export interface PromotionFacts {
  /** absent: this cluster has never had a journal */
  readonly head:
    | Pick<Head, 'mode' | 'epoch' | 'lineage' | 'last' | 'unfinishedSync' | 'replayUntil'>
    | undefined
  readonly primary: PrimaryFacts
  /** encrypted fields that were tried: how many could be decrypted, and the kinds of the others */
  readonly keyring: {
    readonly opened: number
    readonly failed: readonly string[]
    /** identity of the term by which the primary encrypts, if this cluster does not have it */
    readonly missing?: string
  }
  /** a check found the tree wrong */
  readonly corrupted: boolean
  readonly reindexing: boolean
  /** its tables are a restored copy of another cluster's, whose id and key it has */
  readonly copied: boolean
  /** what keeps this cluster from applying what it has; absent: nothing */
  readonly stuck?: string | undefined
  /** the last position that the primary has told of; absent: none */
  readonly lastKnownPosition?: number | undefined
  /** format of journal and link that this version speaks */
  readonly format: number
  /** epoch milliseconds: when this began to be gathered */
  readonly now: number
}

/** A promotion may go on, or why not; and what its caller has to know. */
export interface PromotionVerdict {
  readonly refused?: OperationFault
  readonly warnings: readonly string[]
}

/** Whether a primary answers that has more than a secondary may be behind it. */
export const isBehind = (primary: PrimaryFacts): boolean =>
  primary.state === 'answers' && primary.lag !== 'diverged' && primary.lag > bounds.LARGEST_LAG_MS

interface Check {
  readonly name: string
  readonly code: 'invalid_request' | 'busy'
  /** whether `force` overrides it */
  readonly overridden: boolean
  /** what is in the way; undefined: nothing */
  readonly finds: (facts: PromotionFacts) => string | undefined
  /** seconds after which the obstacle may be gone by itself; absent: repeating the request alone does not help */
  readonly retryAfter?: number | ((facts: PromotionFacts) => number)
}

/** Seconds after which an obstacle may be gone: that of following, of longer work, or of a cause that somebody mends. */
const RETRY_SECONDS = { soon: 5, work: 10, mended: 30 }

const seconds = (ms: number): number => Math.round(ms / 1000)

/**
 * Whether a primary has been silent for so long that it counts as lost. If its gateway answers, it may still serve: a gateway
 * that throttles the link tells nothing about clients.
 */
const isLost = (primary: PrimaryFacts & { readonly state: 'silent' }): boolean =>
  primary.unsignedAnswer === undefined && primary.silentMs >= bounds.PRIMARY_LOST_MS

/** Seconds after which a silent primary may answer again. */
const SILENT_RETRY_SECONDS = 15

/** Seconds until a silent primary may answer again, or counts as lost. */
const secondsUntilLost = ({ primary }: PromotionFacts): number => {
  if (primary.state !== 'silent' || primary.unsignedAnswer !== undefined) return SILENT_RETRY_SECONDS
  return Math.min(
    SILENT_RETRY_SECONDS,
    Math.max(1, Math.ceil((bounds.PRIMARY_LOST_MS - primary.silentMs) / 1000)),
  )
}

/** The fault of a keyring that decrypts nothing; undefined: it decrypts something. */
export const keyringFault = ({ opened, failed }: PromotionFacts['keyring']): string | undefined =>
  opened > 0
    ? undefined
    : `the keyring does not open${failed.length > 0 ? ` (${failed.slice(0, 5).join(', ')})` : ''}: no encrypted field can be read; check that this cluster’s KMS key is enabled, and that the cluster may use it`

/** One row for each obstacle. @see docs/spec/promotion.md#promotion */
const checks: readonly Check[] = [
  {
    name: 'restored-copy',
    code: 'invalid_request',
    overridden: false,
    // two primaries with one id would give their epochs the same names, so their journals could not be told apart
    finds: ({ copied }) =>
      copied
        ? 'this cluster is a restored copy of another one, and has its id and its key; POST sys/replication/dr/secondary/disable makes an ordinary cluster of it, which serves clients with all that it has'
        : undefined,
  },
  {
    name: 'first-sync',
    code: 'invalid_request',
    overridden: false,
    finds: ({ head }) =>
      head && head.lineage.length > 0
        ? undefined
        : 'this cluster has never had all of its primary’s items: its first sync has not ended; wait until GET sys/replication/dr/status shows stream-wals, or start again by secondary/disable and secondary/enable',
  },
  {
    name: 'keyring',
    code: 'busy',
    overridden: false,
    finds: ({ keyring }) => keyringFault(keyring),
    retryAfter: RETRY_SECONDS.mended,
  },
  {
    name: 'keyring-terms',
    code: 'busy',
    overridden: true,
    finds: ({ keyring: { opened, failed } }) =>
      opened > 0 && failed.length > 0
        ? `the keyring does not open everything: ${failed.slice(0, 5).join(', ')}`
        : undefined,
    retryAfter: RETRY_SECONDS.mended,
  },
  {
    name: 'newest-term',
    code: 'busy',
    overridden: true,
    finds: ({ keyring: { missing } }) =>
      missing === undefined
        ? undefined
        : `this cluster does not have the term ${missing}, by which the primary encrypts: it cannot decrypt what that term has encrypted, and if the rotation retired older terms, it accepts their batch tokens again`,
    retryAfter: RETRY_SECONDS.soon,
  },
  {
    name: 'sync',
    code: 'busy',
    overridden: true,
    finds: ({ head }) => {
      if (head?.mode === 'syncing') return 'a sync is running (merkle-sync)'
      if (head?.mode === 'draining') return 'a sync is about to begin (merkle-diff)'
      return head && (head.unfinishedSync !== null || head.replayUntil > 0)
        ? `items that a sync has fetched are consistent only from position ${head.replayUntil} on, and this cluster is at ${head.last}`
        : undefined
    },
    retryAfter: RETRY_SECONDS.work,
  },
  {
    name: 'corrupted',
    code: 'busy',
    overridden: true,
    finds: ({ corrupted }) =>
      corrupted
        ? 'items keep differing from those of the primary, or a check has found the tree of items corrupted: POST sys/replication/dr/secondary/reindex with diff, then sys/replication/dr/secondary/recover, repair that'
        : undefined,
    retryAfter: RETRY_SECONDS.mended,
  },
  {
    name: 'reindex',
    code: 'busy',
    overridden: true,
    finds: ({ reindexing }) => (reindexing ? 'a reindex is running' : undefined),
    retryAfter: RETRY_SECONDS.work,
  },
  {
    name: 'stuck',
    code: 'busy',
    overridden: true,
    finds: ({ stuck }) =>
      stuck === undefined
        ? undefined
        : `what has been received cannot be applied: ${stuck}; POST sys/replication/dr/secondary/recover tries again`,
    retryAfter: RETRY_SECONDS.mended,
  },
  {
    name: 'no-primary',
    code: 'invalid_request',
    overridden: true,
    finds: ({ primary }) =>
      primary.state === 'none'
        ? 'this cluster knows no primary, so it is unknown what it has missed; POST sys/replication/dr/secondary/update-primary gives it one'
        : undefined,
  },
  {
    name: 'not-following',
    code: 'busy',
    overridden: true,
    finds: ({ primary, head }) =>
      primary.state !== 'none' && head?.mode === 'closed'
        ? 'this cluster was a primary, and has not followed another one yet; POST sys/replication/dr/secondary/update-primary gives it the present one'
        : undefined,
    retryAfter: RETRY_SECONDS.soon,
  },
  {
    name: 'refused',
    code: 'busy',
    overridden: true,
    finds: ({ primary }) =>
      primary.state === 'refuses'
        ? `the primary answers, and refuses this cluster: ${primary.text}`
        : undefined,
    retryAfter: RETRY_SECONDS.mended,
  },
  {
    name: 'silent',
    code: 'busy',
    overridden: true,
    finds: ({ primary, now }) => {
      if (primary.state !== 'silent' || isLost(primary)) return undefined
      if (primary.unsignedAnswer !== undefined)
        return `something other than the primary answers at the primary’s address, and the primary may be serving behind it: ${primary.unsignedAnswer}`
      return primary.lastAnswerAt === undefined
        ? 'the primary does not answer, and has never answered'
        : `the primary does not answer; it last answered ${seconds(ageSince(primary.lastAnswerAt, now))} s ago; unanswered calls show ${seconds(primary.silentMs)} s of silence, and ${bounds.PRIMARY_LOST_MS / 1000} s are needed`
    },
    retryAfter: secondsUntilLost,
  },
  {
    name: 'lag',
    code: 'busy',
    overridden: true,
    finds: ({ primary }) => {
      if (primary.state !== 'answers') return undefined
      if (primary.lag === 'diverged')
        return 'the journals of this cluster and of the primary have diverged (merkle-diff)'
      return isBehind(primary)
        ? `this cluster is ${seconds(primary.lag)} s behind its primary: more than ${bounds.LARGEST_LAG_MS / 1000} s`
        : undefined
    },
    retryAfter: RETRY_SECONDS.soon,
  },
]

/** How much of the primary's journal is known to be missing. What it committed after its last answer is unknown. */
function missingText({
  head,
  lastKnownPosition,
}: Pick<PromotionFacts, 'head' | 'lastKnownPosition'>): string {
  if (lastKnownPosition === undefined) return ''
  const behind = lastKnownPosition - (head?.last ?? 0)
  return behind > 0
    ? `: at least ${behind} positions up to ${lastKnownPosition}, which the primary’s last answer named, and everything after that`
    : ': everything after the primary’s last answer, and nothing that came before it'
}

/** This cluster cannot know them: the report of the former primary names them. */
const REVOCATIONS_LOST =
  'revocations and retirements of terms that the primary committed behind that position are lost, so what they ended is valid here again: repeat them here by POST sys/replication/dr/primary/revoke-secondary and POST sys/rotate with retire=true; once the former primary follows, GET sys/replication/dr/divergence there lists the lost ones'

/** The warnings of a promotion. */
function warningsOf(facts: PromotionFacts): string[] {
  const { primary, head, format, now } = facts
  const at = `${head?.epoch}/${head?.last}`
  if (primary.state === 'silent') {
    const last =
      primary.lastAnswerAt === undefined
        ? 'it has never answered'
        : `it last answered ${seconds(ageSince(primary.lastAnswerAt, now))} s ago, at ${printTime(primary.lastAnswerAt)}`
    return [
      `the primary does not answer (${last}): this cluster takes over at position ${at}, and lacks what was committed behind it${missingText(facts)}`,
      REVOCATIONS_LOST,
    ]
  }
  if (primary.state === 'refuses' || primary.state === 'none')
    return [`nothing was handed over: this cluster takes over at position ${at}`, REVOCATIONS_LOST]
  return primary.format < format
    ? [
        `the primary speaks format ${primary.format}, this cluster ${format}: it cannot come back as a secondary before its upgrade`,
      ]
    : []
}

/** What the row of a check comes to. */
export interface CheckResult {
  readonly name: string
  readonly code: 'invalid_request' | 'busy'
  /** whether `force` overrides it */
  readonly overridden: boolean
  /** what is in the way; absent: nothing */
  readonly text?: string
  /** seconds after which that may be gone by itself; absent: it is not, or nothing is in the way */
  readonly retryAfter?: number
}

type Obstacle = CheckResult & { readonly text: string }

/** All checks of a promotion, in their order, with what each finds. */
export const checkPromotion = (facts: PromotionFacts): CheckResult[] =>
  checks.map(({ name, code, overridden, finds, retryAfter }) => {
    const text = finds(facts)
    if (text === undefined) return { name, code, overridden }
    const seconds = typeof retryAfter === 'function' ? retryAfter(facts) : retryAfter
    return defined({ name, code, overridden, text, retryAfter: seconds })
  })

/** Whether the primary is asked to hand over; not during a sync. */
export const shouldRequestHandover = ({ primary, head }: PromotionFacts): boolean =>
  primary.state === 'answers' && head?.mode === 'applying'

/**
 * Whether a secondary may be promoted. Nothing has changed up to here: a refusal leaves both clusters as they were.
 */
export function decidePromotion(
  facts: PromotionFacts,
  { force }: { readonly force: boolean },
): PromotionVerdict {
  const found = checkPromotion(facts).filter((check): check is Obstacle => check.text !== undefined)
  const obstacles = found.filter(({ overridden }) => !force || !overridden)
  if (obstacles.length > 0) return { refused: faultOf(obstacles), warnings: [] }
  return { warnings: [...found.map(({ text }) => `overridden by force: ${text}`), ...warningsOf(facts)] }
}

/** The fault of all obstacles: repeating the request helps only where each of them may be gone by itself. */
function faultOf(obstacles: readonly Obstacle[]): OperationFault {
  const texts = obstacles.map(({ text }) => text).join('; ')
  const final = obstacles.find(({ overridden }) => !overridden)
  const stays = obstacles.some(({ code }) => code === 'invalid_request')
  const wait = stays ? undefined : Math.max(...obstacles.map(({ retryAfter = 0 }) => retryAfter))
  const again = stays ? 'repeat this once that is done' : 'repeat this later'
  const next = final ? 'force does not help here' : `${again}, or use force`
  return defined({
    code: final?.code ?? (stays ? 'invalid_request' : 'busy'),
    text: `${texts}; ${next}`,
    retryAfter: wait,
  })
}
