import type { Method } from '../wire/carry.ts'
import type { Form } from './forms.ts'
import { itemsForms, keyringForms, scanForms, treeForms } from './item-messages.ts'
import { entriesForms, heartbeatForms, notifyForms } from './journal-messages.ts'
import { bodyUnreadable } from './refusals.ts'
import { activateForms, fenceForms, handoverForms } from './role-messages.ts'

/** A method of the link: everything that is said of it but how it is answered. */
export interface MethodRow {
  /** what code calls it, where the protocol names it otherwise */
  readonly as?: string
  readonly forms: { readonly question: Form<unknown>; readonly answer: Form<unknown> }
  /**
   * `secondary`: signs by the key that it was admitted with, and is answered from a journal that serves; `newcomer`: proves
   * by its signature that it has the key it names; `primary`: signs by the key that the link names.
   */
  readonly by: 'secondary' | 'newcomer' | 'primary'
  /** milliseconds that a call may take, where it is not the usual time */
  readonly timeoutMs?: number
  /** it changes something: each call has to be later than all before. Everything else may be asked twice */
  readonly once?: true
  /** its answers hang together over several calls: none by a lineage that is not the caller's */
  readonly ofOneLineage?: true
  /** its refusals are entries in the audit log, counted: anybody may send such a call */
  readonly counted?: true
  /** a restored copy of a cluster answers it too */
  readonly byCopies?: true
}

/**
 * What clusters of a set ask each other, a row for each method of `link.proto`. How it is answered stands in
 * `serve/handlers.ts`.
 */
export const methods = {
  /** Hands in an activation token. The same cluster may repeat it with the same keys until its first heartbeat. */
  Activate: { forms: activateForms, by: 'newcomer', timeoutMs: 20_000, once: true, counted: true },
  /** The heartbeat: tells how far the secondary is, and learns how far the primary is. */
  Echo: { as: 'heartbeat', forms: heartbeatForms, by: 'secondary', once: true },
  /** Journal entries from behind a position on, in order and without gaps, up to the frontier or to a number of bytes. */
  Cells: { as: 'entries', forms: entriesForms, by: 'secondary', timeoutMs: 20_000 },
  /** Items as they are now, read strongly, in the order of their keys; then the head was read. */
  Items: { forms: itemsForms, by: 'secondary', ofOneLineage: true },
  /** A page of one segment of all items, read consistently. */
  Scan: { forms: scanForms, by: 'secondary', timeoutMs: 20_000, ofOneLineage: true },
  /** Hashes of the Merkle tree, by level. */
  Tree: { forms: treeForms, by: 'secondary', ofOneLineage: true },
  /** The keyring, once it has at least the term that is asked for. */
  Keyring: { forms: keyringForms, by: 'secondary' },
  /**
   * Has the primary end the epoch that it wrote when it was heard last, for this cluster, and for no other. May be repeated:
   * the answer is the same.
   */
  Handover: { forms: handoverForms, by: 'secondary', timeoutMs: 20_000, once: true },
  /** Has a cluster end its epoch that writes an earlier one than the caller. */
  Fence: { forms: fenceForms, by: 'newcomer', counted: true, byCopies: true },
  /** Says that there is something to fetch. */
  Notify: { forms: notifyForms, by: 'primary', timeoutMs: 2000 },
} as const satisfies Readonly<Record<Method, MethodRow>>

export const methodNames = Object.keys(methods) as readonly Method[]

/** What is said of a method. */
export const rowOf = (method: Method): MethodRow => methods[method]

/** Methods that are called by somebody. */
export type MethodBy<By extends MethodRow['by']> = {
  [M in Method]: (typeof methods)[M]['by'] extends By ? M : never
}[Method]

/** What code calls a method. */
export type CodeName<M extends Method> = (typeof methods)[M] extends { as: infer Name extends string }
  ? Name
  : Uncapitalize<M>

/** What a method is asked, and what it answers. */
export type Question<M extends Method> = ReturnType<(typeof methods)[M]['forms']['question']['read']>
export type Reply<M extends Method> = ReturnType<(typeof methods)[M]['forms']['answer']['read']>

/** What a call asks. @throws LinkRefused when its body holds no such question */
export function questionIn<M extends Method>(method: M, body: Uint8Array): Question<M> {
  return readingOf(method, () => methods[method].forms.question.read(body) as Question<M>)
}

/** What is read of a call's body. @throws LinkRefused when it cannot be */
export function readingOf<T>(method: Method, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw bodyUnreadable(method, error instanceof Error ? error.message : String(error))
  }
}
