import type { Method } from './carry.ts'
import { itemsForms, keyringForms, scanForms, treeForms } from './item-messages.ts'
import { entriesForms, heartbeatForms, notifyForms } from './journal-messages.ts'
import { bodyUnreadable } from './refusals.ts'
import { activateForms, fenceForms, handoverForms } from './role-messages.ts'

/** Bodies of questions and answers, by method. */
export const forms = {
  Activate: activateForms,
  Echo: heartbeatForms,
  Cells: entriesForms,
  Items: itemsForms,
  Scan: scanForms,
  Tree: treeForms,
  Keyring: keyringForms,
  Handover: handoverForms,
  Fence: fenceForms,
  Notify: notifyForms,
}

/** What a method is asked, and what it answers. */
export type Question<M extends keyof typeof forms> = ReturnType<(typeof forms)[M]['question']['read']>
export type Reply<M extends keyof typeof forms> = ReturnType<(typeof forms)[M]['answer']['read']>

/** What a call asks. @throws LinkRefused when its body holds no such question */
export function questionIn<M extends keyof typeof forms>(method: M, body: Uint8Array): Question<M> {
  return readingOf(method, () => forms[method].question.read(body) as Question<M>)
}

/** What is read of a call's body. @throws LinkRefused when it cannot be */
export function readingOf<T>(method: Method, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw bodyUnreadable(method, error instanceof Error ? error.message : String(error))
  }
}
