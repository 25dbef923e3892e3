import type { ConditionSeverity } from '../set/condition.ts'
import { formatTimeSpan } from '../values/words.ts'
import type { ShownReadiness } from './allowed.ts'

/** An object with an expiry, and its description. */
export interface ExpiryDescription {
  what: string
  tone: ConditionSeverity
  text: string
}

const DAY_MS = 86_400_000
/** Milliseconds before an expiry at which the page warns. */
const SOON_MS = { token: 1_800_000, licence: 30 * DAY_MS, certificate: 30 * DAY_MS }

/** Describes when something expires. @param at epoch milliseconds; undefined: unknown */
export function describeExpiry(
  what: string,
  kind: keyof typeof SOON_MS,
  at: number | undefined,
  now: number,
): ExpiryDescription {
  if (at === undefined) return { what, tone: 'unknown', text: 'the expiry is unknown' }
  const left = at - now
  if (left <= 0) return { what, tone: 'bad', text: `expired ${formatTimeSpan(-left)} ago` }
  const text = `expires in ${formatTimeSpan(left)}, at ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return left < SOON_MS[kind]
    ? { what, tone: 'busy', text: `${text}; renew now` }
    : { what, tone: 'good', text }
}

/** Lists the expiry of the operation token that was presented, as the readiness answer judges it. */
export function listTokenExpiries({ fields, at }: ShownReadiness, now: number): ExpiryDescription[] {
  const { presented, generated } = fields.operation_token ?? {}
  const { counts = false, why = '', seconds_left: left = 0 } = presented ?? {}
  const what = 'the presented token'
  const text = `this token does not allow a promotion (${why}); prepare a batch token that does`
  const expiry: ExpiryDescription = !counts
    ? { what, tone: 'busy', text }
    : left > 0
      ? describeExpiry('the prepared token', 'token', at + left * 1000, now)
      : { what, tone: 'good', text: `allows a promotion: ${why}` }
  if (!generated) return [expiry]
  const age = formatTimeSpan(generated.age_seconds * 1000 + now - at)
  return [
    expiry,
    {
      what: 'a token from recovery shares',
      tone: 'busy',
      text: `this token was generated ${age} ago and stays valid until it is deleted; delete it when no promotion is planned`,
    },
  ]
}

/**
 * Reads the end of a certificate's validity.
 * @param pem one certificate
 * @returns epoch milliseconds; undefined if the certificate cannot be read
 */
export function readCertificateNotAfter(pem: string): number | undefined {
  try {
    const base64 = pem.replace(/-----[A-Z ]+-----/g, '').replace(/\s/g, '')
    const der = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))
    const [certificate] = childrenOf(der)
    const [body] = childrenOf(certificate?.content ?? der)
    const parts = childrenOf(body?.content ?? der).filter(({ tag }) => tag !== VERSION)
    // the first four parts are serial number, algorithm, issuer and validity
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

/** Reads consecutive DER elements. @throws Error if the bytes are not DER */
function childrenOf(der: Uint8Array): Element[] {
  const found: Element[] = []
  for (let at = 0; at < der.length; ) {
    const tag = der[at] ?? 0
    const first = der[at + 1] ?? 0
    const bytes = first < 0x80 ? 0 : first & 0x7f
    const length =
      bytes === 0 ? first : der.slice(at + 2, at + 2 + bytes).reduce((sum, byte) => sum * 256 + byte, 0)
    const from = at + 2 + bytes
    if (bytes > 4 || from + length > der.length) throw new Error('the bytes are not DER')
    found.push({ tag, content: der.slice(from, from + length) })
    at = from + length
  }
  return found
}

/** Parses a time of a certificate. Two-digit years lie between 1950 and 2049. */
function instantOf({ tag, content }: Element): number | undefined {
  const text = String.fromCharCode(...content)
  const whole = tag === UTC_TIME ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(whole)?.map(Number) ?? []
  return year === undefined ? undefined : Date.UTC(year, (month ?? 1) - 1, day, hour, minute, second)
}
