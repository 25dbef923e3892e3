import type { Method } from '../wire/carry.ts'
import type { Form } from './forms.ts'
import { itemsForms, keyringForms, scanForms, treeForms } from './item-messages.ts'
import { entriesForms, heartbeatForms, notifyForms } from './journal-messages.ts'
import { bodyUnreadable } from './refusals.ts'
import { activateForms, fenceForms, handoverForms } from './role-messages.ts'

/** A method of the link: all about it except how it is answered. */
export interface MethodRow {
  readonly forms: { readonly question: Form<unknown>; readonly answer: Form<unknown> }
  /**
   * `secondary`: signs by the key that it was admitted with, and is answered from a journal that serves; `newcomer`: proves
   * by its signature that it has the key it names; `primary`: signs by the key that the link names.
   */
  readonly by: 'secondary' | 'newcomer' | 'primary'
  /** milliseconds that a call may take; absent: the usual time */
  readonly timeoutMs?: number
  /** it changes something, so each call has to be later than all before; other methods may be repeated */
  readonly requiresLaterTime?: true
  /** answers to several calls belong together, so it answers only by the caller's lineage */
  readonly requiresSameLineage?: true
  /** it is valid whatever the clocks of both clusters show; other calls are refused if the clocks are too far apart */
  readonly ignoresClock?: true
  /** its refusals are counted in the audit log, because anybody may send such a call */
  readonly countsRefusals?: true
  /** a restored copy of a cluster answers it too */
  readonly servedByCopies?: true
}

/**
 * What clusters of a set ask each other, a row for each method of `link.proto`. How it is answered stands in
 * `serve/handlers.ts`.
 */
export const methods = {
  /** Hands in an activation token. The same cluster may repeat it with the same keys until its first heartbeat. */
  Activate: {
    forms: activateForms,
    by: 'newcomer',
    timeoutMs: 20_000,
    requiresLaterTime: true,
    countsRefusals: true,
  },
  /** The heartbeat: tells how far the secondary is, and learns how far the primary is. */
  Heartbeat: { forms: heartbeatForms, by: 'secondary', requiresLaterTime: true },
  /** Journal entries from behind a position on, in order and without gaps, up to the frontier or to a number of bytes. */
  Entries: { forms: entriesForms, by: 'secondary', timeoutMs: 20_000 },
  /** Items in their present state, read consistently, in the order of their keys; the head is read after them. */
  Items: { forms: itemsForms, by: 'secondary', requiresSameLineage: true },
  /** A page of one segment of all items, read consistently. */
  Scan: { forms: scanForms, by: 'secondary', timeoutMs: 20_000, requiresSameLineage: true },
  /** Hashes of the Merkle tree, by level. */
  Tree: { forms: treeForms, by: 'secondary', requiresSameLineage: true },
  /** The keyring, once it has at least the term that is asked for. */
  Keyring: { forms: keyringForms, by: 'secondary' },
  /**
   * Makes the primary end the epoch of its last heartbeat, for this cluster only. May be repeated, with the same
   * answer.
   */
  Handover: { forms: handoverForms, by: 'secondary', timeoutMs: 20_000, requiresLaterTime: true },
  /** Makes a cluster end its epoch, if that is earlier than the caller's. May be repeated, with the same answer. */
  Fence: {
    forms: fenceForms,
    by: 'newcomer',
    ignoresClock: true,
    countsRefusals: true,
    servedByCopies: true,
  },
  /** Says that there is something to fetch. */
  Notify: { forms: notifyForms, by: 'primary', timeoutMs: 2000 },
} as const satisfies Readonly<Record<Method, MethodRow>>

export const methodNames = Object.keys(methods) as readonly Method[]

/** The row of a method. */
export const rowOf = (method: Method): MethodRow => methods[method]

/** Methods with this kind of caller. */
export type MethodBy<By extends MethodRow['by']> = {
  [M in Method]: (typeof methods)[M]['by'] extends By ? M : never
}[Method]

/** The name of a method in code. */
export type CodeName<M extends Method> = Uncapitalize<M>

/** Question and answer of a method. */
export type Question<M extends Method> = ReturnType<(typeof methods)[M]['forms']['question']['read']>
export type Reply<M extends Method> = ReturnType<(typeof methods)[M]['forms']['answer']['read']>

/** The question of a call. @throws LinkRefused when its body is no such question */
export function readQuestion<M extends Method>(method: M, body: Uint8Array): Question<M> {
  return readCallBody(method, () => methods[method].forms.question.read(body) as Question<M>)
}

/** Reads a call's body. @throws LinkRefused when it cannot be read */
export function readCallBody<T>(method: Method, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw bodyUnreadable(method, error instanceof Error ? error.message : String(error))
  }
}
