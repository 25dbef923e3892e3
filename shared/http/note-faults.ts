import { alarming } from '../api/alarming.ts'
import { type ApiError, AUDIT_UNWRITABLE, errorCodes, STORAGE_BUSY } from '../api/errors.ts'
import type { FaultyPart, RecentFault } from '../model/fault.ts'
import type { Ports } from '../ports.ts'
import { put } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/** Between two notes of one environment on a part that keeps failing. */
const FAULT_NOTE_PAUSE_MS = 30_000

/** How a request ended, as far as it shows what works. */
export interface RequestEnd {
  error: ApiError | undefined
  /** of a login */
  login: unknown
  /** calls that it made, by service */
  calls: Readonly<Record<string, number>>
}

type NotingPorts = Pick<Ports, 'memory' | 'store' | 'clock' | 'log'>

/**
 * Notes in the table `cluster` what fails, so that status, which another function answers, can show it. An environment
 * writes at most one small item per part in half a minute while it fails, and one when it works again: nothing is written,
 * or read, while all is well. Nothing is thrown.
 */
export async function noteFaults(ended: RequestEnd, ports: NotingPorts): Promise<void> {
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
      // what cannot be written now is written when storage answers again
      if (!failing.has('storage')) await write(part, fault, ports)
    } else if (before && working.has(part)) {
      noted.delete(part)
      await write(part, { ...before, endedAt: now }, ports)
    }
  }
}

function failingParts({ error, login }: RequestEnd): ReadonlySet<FaultyPart> {
  const failing = new Set<FaultyPart>()
  if (!error || errorCodes[error.code].status < 500) return failing
  if (error.message.startsWith(alarming.keyring)) failing.add('keyring')
  if (error.message === STORAGE_BUSY) failing.add('storage')
  if (error.message.startsWith(AUDIT_UNWRITABLE)) failing.add('audit')
  if (login !== undefined) failing.add('logins')
  return failing
}

/** A part has worked where the request needed it. A keyring that is in memory proves nothing about KMS. */
function workingParts(
  { error, login, calls }: RequestEnd,
  failing: ReadonlySet<FaultyPart>,
): ReadonlySet<FaultyPart> {
  const working = new Set<FaultyPart>()
  const succeeded = !error || errorCodes[error.code].status < 500
  if (succeeded) working.add('storage').add('audit')
  if (succeeded && login !== undefined) working.add('logins')
  if ((calls['kms'] ?? 0) > 0 && !failing.has('keyring')) working.add('keyring')
  return working
}

/** The text that the caller got, with the name of the cause: texts of causes hold names of keys and files. */
function textOf({ error }: RequestEnd): string {
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
    .commit([put(key('fault', part), fault)], { record, readAt: clock.now() }, { tries: 1 })
    .catch((error: unknown) => log.warn('a fault was not noted', { part, cause: String(error) }))
}
