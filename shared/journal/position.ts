/**
 * The name of a stretch of the journal that one cluster wrote: `<number>.<12 hex digits of the cluster's id>`. The
 * number in an epoch's name has six digits. An epoch number of seven digits is prefixed with `a`, one of eight
 * digits with `b`, and so on, so that names sort as their numbers do.
 */
export type Epoch = string

/** A position in the journal. `seq` 0 is before the first position. */
export interface JournalPosition {
  readonly epoch: Epoch
  readonly seq: number
}

/** The epochs of a journal with their first positions, oldest first, at most twelve. */
export type JournalLineage = readonly (readonly [epoch: Epoch, start: number])[]

/** Reports whether two lineages are the same. */
export const isSameLineage = (a: JournalLineage, b: JournalLineage): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

const SEQ_DIGITS = 12
const INCARNATION_DIGITS = 9
/** The maximum number of epochs in a lineage. */
export const MAX_LINEAGE_EPOCHS = 12

const POSITION = /^([^/]+)\/(\d{12})$/
const EPOCH = /^(\d{6}|[a-i][1-9]\d{6,14})\.[0-9a-f]{12}$/

const EPOCH_DIGITS = 6
/** The highest epoch number: the highest decimal number of 15 digits, a safe integer. */
const LAST_EPOCH = 999_999_999_999_999
/**
 * The most by which an epoch number from another cluster may be above the highest known number. Each take-over
 * raises the epoch number by one.
 */
export const MAX_EPOCH_LEAD = 1000

/**
 * Reports whether an epoch number is further above the known number than take-overs can explain.
 * @param known number of an epoch
 */
export const isEpochTooFarAhead = (epoch: Epoch, known: number): boolean =>
  epochNumber(epoch) > known + MAX_EPOCH_LEAD

/**
 * Returns the name of an epoch. The name of an epoch contains the cluster's id, so no two clusters write in the
 * same epoch.
 * @throws Error when no higher epoch number exists
 */
export function formatEpoch(number: number, cluster: string): Epoch {
  if (number > LAST_EPOCH)
    throw new Error(
      'no higher epoch number is left: make a new DR set with primary/disable and primary/enable',
    )
  return `${epochDigits(number)}.${cluster.replaceAll('-', '').slice(-12)}`
}

function epochDigits(number: number): string {
  const digits = String(number).padStart(EPOCH_DIGITS, '0')
  const more = digits.length - EPOCH_DIGITS
  return more === 0 ? digits : `${String.fromCharCode('a'.charCodeAt(0) + more - 1)}${digits}`
}

/** Reports whether a text is the name of an epoch. */
export const isEpoch = (text: string): text is Epoch =>
  EPOCH.test(text) && text.startsWith(`${epochDigits(epochNumber(text))}.`)

/**
 * Reports whether a cluster writes this epoch.
 * @param cluster UUID
 */
export const isEpochOf = (epoch: Epoch, cluster: string): boolean =>
  formatEpoch(epochNumber(epoch), cluster) === epoch

/** Returns the number of an epoch; 0 for an empty name. */
export const epochNumber = (epoch: Epoch): number =>
  Number(epoch.slice(0, Math.max(0, epoch.indexOf('.'))).replace(/^[a-i]/, ''))

/** Returns a text that sorts after all positions of epochs with a lower number. */
export const lowestPositionOfEpoch = (number: number): string => `${String(number).padStart(6, '0')}/`

/** Returns a position as `<epoch>/<12 digits>`. Texts of positions sort as the positions do. */
export const positionText = ({ epoch, seq }: JournalPosition): string => `${epoch}/${sequenceText(seq)}`

/** Returns the number of a position as 12 digits. */
export const sequenceText = (seq: number): string => String(seq).padStart(SEQ_DIGITS, '0')

/**
 * Parses a position.
 * @throws Error for malformed text
 */
export function parsePosition(text: string): JournalPosition {
  const [, epoch, seq] = POSITION.exec(text) ?? []
  if (!epoch || !isEpoch(epoch) || !seq) throw new Error(`${JSON.stringify(text)} is not a journal position`)
  return { epoch, seq: Number(seq) }
}

/**
 * Returns a mark, `<incarnation, 9 digits>/<position>`. Marks sort in the order in which one cluster applied
 * changes. The incarnation grows at each take-over and each sync, so the marks of a replay are above the marks that
 * it replaces.
 */
export const bucketMarkText = (incarnation: number, pos: string): string =>
  `${String(incarnation).padStart(INCARNATION_DIGITS, '0')}/${pos}`

/** Returns the epoch of a position by its number; empty for positions before the lineage begins. */
export const epochAt = (lineage: JournalLineage, seq: number): Epoch =>
  lineage.findLast(([, start]) => start <= seq)?.[0] ?? ''

/** Appends an epoch to the lineage. If the lineage would have more than twelve epochs, the oldest is dropped. */
export const appendEpoch = (lineage: JournalLineage, epoch: Epoch, start: number): JournalLineage =>
  [...lineage, [epoch, start] as const].slice(-MAX_LINEAGE_EPOCHS)

/**
 * Finds the fork point of two journals. Epochs that one of the lineages has dropped do not matter, because lineages
 * that have diverged never share an epoch again.
 * @returns `forkPoint`: the last common position, or -1; `diverged`: the own journal continues after the fork point
 */
export function compareLineages(
  source: { readonly lineage: JournalLineage },
  own: { readonly lineage: JournalLineage; readonly last: number },
): { forkPoint: number; diverged: boolean } {
  const same = ([epoch, start]: JournalLineage[number]) =>
    source.lineage.findIndex(([other, at]) => other === epoch && at === start)
  const last = own.lineage.findLastIndex(entry => same(entry) >= 0)
  const shared = own.lineage[last]
  if (!shared) return { forkPoint: -1, diverged: own.last >= 0 }
  const sourceEnd = (source.lineage[same(shared) + 1]?.[1] ?? Number.POSITIVE_INFINITY) - 1
  const ownEnd = (own.lineage[last + 1]?.[1] ?? own.last + 1) - 1
  const forkPoint = Math.min(sourceEnd, ownEnd)
  return { forkPoint, diverged: own.last > forkPoint }
}
