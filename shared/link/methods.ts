import type { LinkMethod } from '../wire/carry.ts'
import type { MessageForm } from './forms.ts'
import {
  itemsMessageForms,
  keyringMessageForms,
  scanMessageForms,
  treeMessageForms,
} from './item-messages.ts'
import { entriesMessageForms, heartbeatMessageForms, notifyMessageForms } from './journal-messages.ts'
import { callBodyUnreadableError } from './refusals.ts'
import { activateMessageForms, fenceMessageForms, handoverMessageForms } from './role-messages.ts'

/** The properties of a link method, except its handler. */
export interface LinkMethodRow {
  readonly forms: { readonly question: MessageForm<unknown>; readonly answer: MessageForm<unknown> }
  /**
   * The kind of caller of a link method. `secondary`: signs with the key that it was admitted with; a primary's
   * journal answers its call. `newcomer`: signs with the key that the call itself names. `primary`: signs with the
   * key that the link record names.
   */
  readonly by: 'secondary' | 'newcomer' | 'primary'
  /** milliseconds that a call may take; absent: `DEFAULT_CALL_TIMEOUT_MS` */
  readonly timeoutMs?: number
  /**
   * `requiresLaterTime`: each call must have a later time than all earlier calls, because it changes something;
   * calls of other methods may be repeated
   */
  readonly requiresLaterTime?: true
  /**
   * `requiresSameLineage`: the call is refused unless the caller's lineage equals the primary's, because the
   * answers to several calls must fit together
   */
  readonly requiresSameLineage?: true
  /**
   * `ignoresClock`: the call is valid whatever the clocks show; other calls are refused if the clocks of both
   * clusters are too far apart
   */
  readonly ignoresClock?: true
  /** `countsRefusals`: the audit log counts the refusals of this method, because anybody may send such a call */
  readonly countsRefusals?: true
  /** `servedByCopies`: a restored copy of a cluster answers this method too */
  readonly servedByCopies?: true
}

/** The methods of `link.proto`, one row for each. The handlers of the methods are in `serve/handlers.ts`. */
export const linkMethods = {
  /**
   * Hands in an activation token to the primary. The same cluster may repeat this call with the same keys until its
   * first heartbeat.
   */
  Activate: {
    forms: activateMessageForms,
    by: 'newcomer',
    timeoutMs: 20_000,
    requiresLaterTime: true,
    countsRefusals: true,
  },
  /** Sends the secondary's position and returns the primary's. */
  Heartbeat: { forms: heartbeatMessageForms, by: 'secondary', requiresLaterTime: true },
  /**
   * Returns the journal entries after a position, in order and without gaps, up to the frontier or up to a number of
   * bytes.
   */
  Entries: { forms: entriesMessageForms, by: 'secondary', timeoutMs: 20_000 },
  /**
   * Returns items in their present state, read consistently, in the order of their keys. The handler reads the head
   * after the items.
   */
  Items: { forms: itemsMessageForms, by: 'secondary', requiresSameLineage: true },
  /** Returns a page of one of the segments into which all items are divided, read consistently. */
  Scan: { forms: scanMessageForms, by: 'secondary', timeoutMs: 20_000, requiresSameLineage: true },
  /** Returns hashes of the Merkle tree, by level. */
  Tree: { forms: treeMessageForms, by: 'secondary', requiresSameLineage: true },
  /** Returns the keyring, once it has at least the term that the secondary requests. */
  Keyring: { forms: keyringMessageForms, by: 'secondary' },
  /**
   * Makes the primary end the epoch of its last heartbeat, for this secondary only. A repeated handover call gets
   * the same answer.
   */
  Handover: { forms: handoverMessageForms, by: 'secondary', timeoutMs: 20_000, requiresLaterTime: true },
  /**
   * Makes a cluster end its epoch if that epoch is earlier than the caller's. A repeated fence gets the same
   * answer.
   */
  Fence: {
    forms: fenceMessageForms,
    by: 'newcomer',
    ignoresClock: true,
    countsRefusals: true,
    servedByCopies: true,
  },
  /** Notifies a secondary that the primary has new entries to fetch. */
  Notify: { forms: notifyMessageForms, by: 'primary', timeoutMs: 2000 },
} as const satisfies Readonly<Record<LinkMethod, LinkMethodRow>>

export const linkMethodNames = Object.keys(linkMethods) as readonly LinkMethod[]

/** Returns the row of a method. */
export const linkMethodRow = (method: LinkMethod): LinkMethodRow => linkMethods[method]

/** The methods with this kind of caller. */
export type MethodByCaller<By extends LinkMethodRow['by']> = {
  [M in LinkMethod]: (typeof linkMethods)[M]['by'] extends By ? M : never
}[LinkMethod]

/** The name of a method as a property name in code. */
export type MethodPropertyName<M extends LinkMethod> = Uncapitalize<M>

/** The question of a method. */
export type MethodQuestion<M extends LinkMethod> = ReturnType<
  (typeof linkMethods)[M]['forms']['question']['read']
>
export type MethodReply<M extends LinkMethod> = ReturnType<(typeof linkMethods)[M]['forms']['answer']['read']>

/**
 * Reads the question of a call.
 * @throws LinkRefused when its body is malformed
 */
export function readMethodQuestion<M extends LinkMethod>(method: M, body: Uint8Array): MethodQuestion<M> {
  return readCallBody(method, () => linkMethods[method].forms.question.read(body) as MethodQuestion<M>)
}

/**
 * Reads a call's body with `read`.
 * @throws LinkRefused when `read` throws
 */
export function readCallBody<T>(method: LinkMethod, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw callBodyUnreadableError(method, error instanceof Error ? error.message : String(error))
  }
}
