import type { Lineage } from '../journal/position.ts'
import type { StoredItem } from '../storage/requests.ts'
import { activationQuestion } from './activation-request.ts'
import { asker, type CallMeans, type End } from './call.ts'
import type { LinkKeys } from './pair.ts'
import { formatTooNew } from './refusals.ts'
import {
  type EchoAnswer,
  FORMAT,
  type ItemsAnswer,
  type ItemsRequest,
  LinkSilent,
  MOST_KEYS,
  type SourceLink,
} from './source.ts'

/** A primary, by way of the link. @param keys of this cluster */
export function sourceLink(end: End & { keys: LinkKeys }, around: CallMeans): SourceLink {
  const ask = asker(end, around)
  /** the source's lineage as it told last: what it answers by another one is refused by itself */
  let lineage: Lineage = []
  let took = 0

  return {
    activate: async request => {
      const question = activationQuestion(request, end, around.entropy.bytes)
      const { reply } = await ask('Activate', question, lineage)
      checkFormat(reply.format)
      lineage = reply.lineage
      const { format: _, ...activated } = reply
      return { ...activated, set: end.set, primaryKey: Buffer.from(end.otherKey).toString('base64') }
    },
    echo: async request => {
      const asked = around.clock.now()
      const { reply, time } = await ask('Echo', { ...request, format: FORMAT, took }, lineage)
      const now = around.clock.now()
      took = now - asked
      checkFormat(reply.format)
      lineage = reply.lineage
      return { ...reply, time, took, skew: Math.round(time - (asked + now) / 2) } satisfies EchoAnswer
    },
    cells: async request => {
      const { reply } = await ask('Cells', request, lineage)
      if ('lineage' in reply) lineage = reply.lineage
      return reply
    },
    items: request => allItems(part => ask('Items', part, lineage), request),
    scan: async request => (await ask('Scan', request, lineage)).reply,
    tree: async request => (await ask('Tree', request, lineage)).reply,
    keyring: async request => (await ask('Keyring', request, lineage)).reply,
    handover: async request => (await ask('Handover', request, lineage)).reply,
  }
}

/** A source of a higher format is not followed: it may say what this version would misread. */
function checkFormat(format: number): void {
  if (format > FORMAT) throw formatTooNew(format)
}

/** Asks until all keys are answered; the head that counts is the one that was read last. */
async function allItems(
  ask: (part: ItemsRequest) => Promise<{ reply: ItemsAnswer }>,
  { keys }: ItemsRequest,
): Promise<ItemsAnswer> {
  const items: (StoredItem | undefined)[] = []
  for (;;) {
    const { reply } = await ask({ keys: keys.slice(items.length, items.length + MOST_KEYS) })
    items.push(...reply.items)
    if (items.length >= keys.length) return { ...reply, items }
    if (reply.items.length === 0) throw new LinkSilent('the primary answers no keys at all')
  }
}
