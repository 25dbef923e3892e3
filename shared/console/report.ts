import { lossShape } from '../set/loss.ts'
import { readShape } from '../values/read-shape.ts'
import { countOf } from '../values/words.ts'

/** What is to be done about lost changes of a kind; all others only have to be known. */
const ADVICE: Readonly<Record<string, string>> = {
  token: 'revocations should be repeated on the primary; lost logins need nothing',
  role: 'should be written again on the primary',
  policy: 'should be written again on the primary',
  mounts: 'should be changed again on the primary',
  'client-config': 'should be written again on the primary',
  'token-role': 'should be written again on the primary',
  deny: 'should be repeated on the primary: what it ended counts again',
}

/** Reads the `data` of GET sys/replication/dr/divergence. */
export function reportOf(data: unknown) {
  const { fields, odd } = readShape(lossShape, data)
  const { complete = false, waits_for: waitsFor = '', counts, lost = [], next = '', diverging = [] } = fields
  return {
    complete,
    waitsFor,
    commits: counts?.commits ?? 0,
    kinds: Object.entries(counts?.kinds ?? {}).map(([kind, { written, deleted }]) => ({
      kind,
      written,
      deleted,
      todo: Object.hasOwn(ADVICE, kind) ? (ADVICE[kind] ?? '') : '',
    })),
    /** of the page that was asked for */
    lost: lost.flatMap(({ changes, time }) =>
      changes.map(({ what, kind, deleted }) => ({ what, kind, time, isDeleted: deleted === true })),
    ),
    /** what `after` takes for more; empty: there is none */
    next,
    diverging: diverging.map(({ what }) => what),
    odd,
  }
}

/** What a former primary had committed and its set does not have. */
export type LossReport = ReturnType<typeof reportOf>

/** A report in a sentence. */
export function reportSentence({ complete, waitsFor, commits, diverging }: LossReport): string {
  const stuck =
    diverging.length === 0
      ? ''
      : ` ${countOf(diverging.length, 'item keeps', 'items keep')} differing from the primary’s.`
  if (!complete)
    return `Not all is written down yet: it waits for ${waitsFor || 'something'}. So far ${countOf(commits, 'commit is', 'commits are')} known to be lost.${stuck}`
  return commits === 0
    ? `Nothing was lost.${stuck}`
    : `${countOf(commits, 'commit')} of this cluster ${commits === 1 ? 'is' : 'are'} not in its set: look for configuration and revocations, and repeat them on the primary.${stuck}`
}
