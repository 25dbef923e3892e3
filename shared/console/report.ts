import { lossReportShape } from '../set/loss.ts'
import { readShape } from '../values/read-shape.ts'
import { formatCount } from '../values/words.ts'

/** The remedy for lost changes, by kind. Lost changes of other kinds need no action. */
const ADVICE: Readonly<Record<string, string>> = {
  token: 'repeat revocations on the primary; lost logins need no action',
  role: 'write the role again on the primary',
  policy: 'write the policy again on the primary',
  mounts: 'change the mounts again on the primary',
  'client-config': 'write the client configuration again on the primary',
  'token-role': 'write the token role again on the primary',
  deny: 'deny the role tags again on the primary, because logins can use the tags again',
}

/** Reads the `data` of GET sys/replication/dr/divergence. */
export function readLossReport(data: unknown) {
  const { fields, odd } = readShape(lossReportShape, data)
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
    /** changes on the requested page of the report */
    lost: lost.flatMap(({ changes, time }) =>
      changes.map(({ what, kind, deleted }) => ({ what, kind, time, isDeleted: deleted === true })),
    ),
    /** `next`: value of `after` for the next page; empty: this is the last page */
    next,
    diverging: diverging.map(({ what }) => what),
    odd,
  }
}

/** The commits of a former primary that its set does not have. */
export type LossReport = ReturnType<typeof readLossReport>

/** Describes a report in a sentence. */
export function describeLossReport({ complete, waitsFor, commits, diverging }: LossReport): string {
  const stuck =
    diverging.length === 0
      ? ''
      : ` ${formatCount(diverging.length, 'item keeps', 'items keep')} differing from the primary’s data.`
  if (!complete)
    return `The report is not complete yet: the cluster waits for ${waitsFor || 'an unknown event'}. So far it lists ${formatCount(commits, 'lost commit')}.${stuck}`
  return commits === 0
    ? `Nothing was lost.${stuck}`
    : `${formatCount(commits, 'commit')} of this cluster ${commits === 1 ? 'is' : 'are'} not in its set. Find configuration changes and revocations among them, and repeat them on the primary.${stuck}`
}
