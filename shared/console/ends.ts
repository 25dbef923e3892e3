import type { Severity } from '../set/condition.ts'
import { spanOf } from '../values/words.ts'
import type { ShownReadiness } from './allowed.ts'

/** Something that ends, and what is to be said of it. */
export interface Expiry {
  what: string
  tone: Severity
  text: string
}

const DAY_MS = 86_400_000
/** What ends sooner than this wants looking after. */
const SOON_MS = { token: 1_800_000, licence: 30 * DAY_MS, certificate: 30 * DAY_MS }

/** When something ends, in words. @param at epoch milliseconds; undefined: unknown */
export function expiryOf(
  what: string,
  kind: keyof typeof SOON_MS,
  at: number | undefined,
  now: number,
): Expiry {
  if (at === undefined) return { what, tone: 'unknown', text: 'it is not known when it ends' }
  const left = at - now
  if (left <= 0) return { what, tone: 'bad', text: `it ended ${spanOf(-left)} ago` }
  const text = `it ends in ${spanOf(left)}, at ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return left < SOON_MS[kind]
    ? { what, tone: 'busy', text: `${text}: it should be renewed now` }
    : { what, tone: 'good', text }
}

/** The token that was prepared for a take-over, as readiness judges the one that was presented. */
export function tokenEnds({ fields, at }: ShownReadiness, now: number): Expiry[] {
  const { presented, generated } = fields.operation_token ?? {}
  const { counts = false, why = '', seconds_left: left = 0 } = presented ?? {}
  const what = 'the presented token'
  const text = `it does not order a promotion (${why}): a batch token should be prepared that does`
  const expiry: Expiry = !counts
    ? { what, tone: 'busy', text }
    : left > 0
      ? expiryOf('the prepared token', 'token', at + left * 1000, now)
      : { what, tone: 'good', text: `it orders a promotion: ${why}` }
  if (!generated) return [expiry]
  const age = spanOf(generated.age_seconds * 1000 + now - at)
  return [
    expiry,
    {
      what: 'a token made by recovery shares',
      tone: 'busy',
      text: `it was made ${age} ago and counts until it is deleted: it should be once it is not needed`,
    },
  ]
}

/**
 * When a certificate ends.
 * @param pem one certificate
 * @returns epoch milliseconds; undefined where it cannot be read
 */
export function notAfterOf(pem: string): number | undefined {
  try {
    const base64 = pem.replace(/-----[A-Z ]+-----/g, '').replace(/\s/g, '')
    const der = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))
    const [certificate] = childrenOf(der)
    const [body] = childrenOf(certificate?.content ?? der)
    const parts = childrenOf(body?.content ?? der).filter(({ tag }) => tag !== VERSION)
    // serial number, algorithm, issuer, validity
    const [, end] = childrenOf(parts[3]?.content ?? der)
    return end && instantOf(end)
  } catch {
    return undefined
  }
}

interface Element {
  tag: number
  content: Uint8Array
}

const VERSION = 0xa0
const UTC_TIME = 0x17

/** The elements of DER beside each other. @throws Error where it is none */
function childrenOf(der: Uint8Array): Element[] {
  const found: Element[] = []
  for (let at = 0; at < der.length; ) {
    const tag = der[at] ?? 0
    const first = der[at + 1] ?? 0
    const bytes = first < 0x80 ? 0 : first & 0x7f
    const length =
      bytes === 0 ? first : der.slice(at + 2, at + 2 + bytes).reduce((sum, byte) => sum * 256 + byte, 0)
    const from = at + 2 + bytes
    if (bytes > 4 || from + length > der.length) throw new Error('it is no DER')
    found.push({ tag, content: der.slice(from, from + length) })
    at = from + length
  }
  return found
}

/** A time of a certificate: years of two digits lie between 1950 and 2049. */
function instantOf({ tag, content }: Element): number | undefined {
  const text = String.fromCharCode(...content)
  const whole = tag === UTC_TIME ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(whole)?.map(Number) ?? []
  return year === undefined ? undefined : Date.UTC(year, (month ?? 1) - 1, day, hour, minute, second)
}
