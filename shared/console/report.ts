import { countOf } from '../values/words.ts'
import { jsonText, listIn, numberOf, objectOf } from './json.ts'

/** What a former primary had committed and its set does not have. */
export interface LossReport {
  complete: boolean
  waitsFor: string
  commits: number
  kinds: readonly { kind: string; written: number; deleted: number; todo: string }[]
  /** of the page that was asked for: what was changed, in words of the cluster */
  lost: readonly { what: string; kind: string; time: string; isDeleted: boolean }[]
  /** what `after` takes for more; empty: there is none */
  next: string
  diverging: readonly string[]
}

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
export function reportOf(data: unknown): LossReport {
  const all = objectOf(data)
  const counts = objectOf(all['counts'])
  return {
    complete: all['complete'] === true,
    waitsFor: jsonText(all['waits_for']),
    commits: numberOf(counts['commits']),
    kinds: Object.entries(objectOf(counts['kinds'])).map(([kind, of]) => ({
      kind,
      written: numberOf(objectOf(of)['written']),
      deleted: numberOf(objectOf(of)['deleted']),
      todo: Object.hasOwn(ADVICE, kind) ? (ADVICE[kind] ?? '') : '',
    })),
    lost: listIn(all['lost']).map(objectOf).flatMap(changesOf),
    next: jsonText(all['next']),
    diverging: listIn(all['diverging']).map(one => jsonText(objectOf(one)['what'])),
  }
}

const changesOf = (entry: Readonly<Record<string, unknown>>) =>
  listIn(entry['changes'])
    .map(objectOf)
    .map(change => ({
      what: jsonText(change['what']),
      kind: jsonText(change['kind']),
      time: jsonText(entry['time']),
      isDeleted: change['deleted'] === true,
    }))

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
