import { keepNewestElements } from './kept.ts'

/** One request that the provider answered. */
export interface ProviderCallRecord {
  /** Number of the call, which rises by one with each call and is never reset. */
  seq: number
  /** RFC 3339, the provider's clock. */
  at: string
  service: string
  action: string
  /** Account of the access key that the request named; null when the request named no existing key. */
  account: string | null
  region: string | null
  /** ARN of the caller; null unless the signature was valid. */
  principalArn: string | null
  /** Status of the answer; 0 when the connection was closed without an answer. */
  status: number
  /** Headers with lower-case names; repeated headers are joined with a comma. */
  headers: Record<string, string>
  /** Query string as sent, still encoded. */
  query: string
  body: string
}

/** The most recent calls to the imitated AWS. */
export interface ProviderCallLog {
  records: ProviderCallRecord[]
  nextSeq: number
}

/** Number of kept calls, of about 2 KB each. */
const KEPT = 2000

/** Creates an empty log. */
export const createProviderCallLog = (): ProviderCallLog => ({ records: [], nextSeq: 1 })

/** Adds a call and numbers it. */
export function recordProviderCall(log: ProviderCallLog, call: Omit<ProviderCallRecord, 'seq'>): void {
  keepNewestElements(log.records, KEPT, [{ seq: log.nextSeq++, ...call }])
}

/** Returns the calls numbered above `since`. */
export const listCallsSince = (log: ProviderCallLog, since: number): ProviderCallRecord[] =>
  log.records.filter(call => call.seq > since)
