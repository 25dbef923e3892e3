import { formatTimeSpan } from '../values/words.ts'

interface RefusedAnswer {
  status: number
  errors: readonly string[]
  /** seconds after which a repetition may succeed; undefined: unknown */
  retryAfter?: number | undefined
}

/** Meanings of status codes for a person. */
const meanings: Readonly<Record<number, string>> = {
  400: 'The cluster refused the request',
  403: 'The token is missing, or may not do this',
  404: 'There is nothing at this path',
  429: 'The cluster gets too many requests',
  472: 'This cluster is a secondary and does not answer this',
  500: 'The cluster failed',
  503: 'The cluster cannot answer now',
}

/** Describes a refused request in a sentence. */
export function describeRefusedAnswer({ status, errors, retryAfter }: RefusedAnswer): string {
  const meaning = meanings[status] ?? 'The cluster refused the request'
  const reasons = errors.filter(text => text !== '').join('; ')
  const again = retryAfter === undefined ? '' : ` Try again in ${formatTimeSpan(retryAfter * 1000)}.`
  return `${meaning} (${status})${reasons === '' ? '' : `: ${reasons}`}.${again}`
}
