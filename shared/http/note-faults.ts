import { alarmingTexts } from '../api/alarming.ts'
import { type ApiError, AUDIT_UNWRITABLE_TEXT, errorCodes, STORAGE_BUSY_TEXT } from '../api/errors.ts'
import type { FaultyPart, RecentFault } from '../model/fault.ts'
import type { Ports } from '../ports.ts'
import { putItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/** Milliseconds between two records of a part that keeps failing, per environment. */
const FAULT_NOTE_PAUSE_MS = 30_000

/** The end of a request, as evidence of which parts work. */
export interface CompletedRequest {
  error: ApiError | undefined
  /** `login` is set for a login */
  login: unknown
  /** calls of the request, by service */
  calls: Readonly<Record<string, number>>
}

type NotingPorts = Pick<Ports, 'memory' | 'store' | 'clock' | 'log'>

/**
 * Records failing parts in the table `cluster`, so that status, which another function serves, can show them. While
 * a part fails, an environment writes one small item per part every 30 seconds at most, and one item when the part
 * works again. While nothing fails, this function reads and writes nothing. The recording of faults never throws.
 */
export async function recordPartFaults(ended: CompletedRequest, ports: NotingPorts): Promise<void> {
  const noted = ports.memory.faults ?? new Map<FaultyPart, RecentFault>()
  ports.memory.faults = noted
  const now = ports.clock.now()
  const failing = failingParts(ended)
  const working = workingParts(ended, failing)
  for (const part of new Set([...noted.keys(), ...failing])) {
    const before = noted.get(part)
    if (failing.has(part)) {
      if (before && now - before.at < FAULT_NOTE_PAUSE_MS) continue
      const fault = { text: textOf(ended), since: before?.since ?? now, at: now }
      noted.set(part, fault)
      // a storage fault is recorded once storage works again
      if (!failing.has('storage')) await write(part, fault, ports)
    } else if (before && working.has(part)) {
      noted.delete(part)
      await write(part, { ...before, endedAt: now }, ports)
    }
  }
}

function failingParts({ error, login }: CompletedRequest): ReadonlySet<FaultyPart> {
  const failing = new Set<FaultyPart>()
  if (!error || errorCodes[error.code].status < 500) return failing
  if (error.message.startsWith(alarmingTexts.keyring)) failing.add('keyring')
  if (error.message === STORAGE_BUSY_TEXT) failing.add('storage')
  if (error.message.startsWith(AUDIT_UNWRITABLE_TEXT)) failing.add('audit')
  if (login !== undefined) failing.add('logins')
  return failing
}

/** Returns the parts that have worked in this request. A cached keyring proves nothing about KMS. */
function workingParts(
  { error, login, calls }: CompletedRequest,
  failing: ReadonlySet<FaultyPart>,
): ReadonlySet<FaultyPart> {
  const working = new Set<FaultyPart>()
  const succeeded = !error || errorCodes[error.code].status < 500
  if (succeeded) working.add('storage').add('audit')
  if (succeeded && login !== undefined) working.add('logins')
  if ((calls['kms'] ?? 0) > 0 && !failing.has('keyring')) working.add('keyring')
  return working
}

/** Returns the client's error text with the name of the cause. The cause's own text may contain keys or file names. */
function textOf({ error }: CompletedRequest): string {
  const { cause, message = '' } = error ?? {}
  const { name = '', code } = (cause ?? {}) as { name?: string; code?: unknown }
  const named = typeof code === 'string' ? code : name
  return named === '' || named === 'Error' || message.includes(named) ? message : `${message} (${named})`
}

async function write(
  part: FaultyPart,
  fault: RecentFault,
  { memory, store, clock, log }: NotingPorts,
): Promise<void> {
  const { record } = memory.cluster ?? {}
  if (!record) return
  await store
    .commit([putItem(key('fault', part), fault)], { record, readAt: clock.now() }, { tries: 1 })
    .catch((error: unknown) =>
      log.warn('a recent fault of this cluster could not be stored', { part, cause: String(error) }),
    )
}
