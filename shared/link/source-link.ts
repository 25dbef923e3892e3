import type { JournalLineage } from '../journal/position.ts'
import type { StoredItem } from '../storage/requests.ts'
import { makeActivationQuestion } from './activation-request.ts'
import { createLinkCallSender, type LinkCallContext, type LinkEnd } from './call.ts'
import {
  linkMethodNames,
  linkMethodRow,
  type MethodByCaller,
  type MethodPropertyName,
  type MethodQuestion,
  type MethodReply,
} from './methods.ts'
import type { LinkPublicKeys } from './pair.ts'
import { primaryTooNewError } from './refusals.ts'
import {
  type ActivateAnswer,
  type ActivateRequest,
  type HeartbeatAnswer,
  type HeartbeatRequest,
  type ItemsAnswer,
  type ItemsRequest,
  LINK_FORMAT,
  LinkSilent,
  MAX_KEYS_PER_MESSAGE,
} from './source.ts'

type AnsweredBySource = MethodByCaller<'secondary'>

/**
 * The methods that a primary answers, by the names of their rows. All methods except `activate`, `heartbeat` and
 * `handover` may be sent twice.
 * @throws LinkRefused when the primary refuses, in a signed answer; LinkSilent when no acceptable answer arrives
 */
export type SourceLink = {
  [M in Exclude<AnsweredBySource, 'Heartbeat'> as MethodPropertyName<M>]: (
    request: MethodQuestion<M>,
  ) => Promise<MethodReply<M>>
} & {
  activate(request: ActivateRequest): Promise<ActivateAnswer>
  heartbeat(request: HeartbeatRequest): Promise<HeartbeatAnswer>
}

const answeredBySource = linkMethodNames.filter(
  (method): method is AnsweredBySource => linkMethodRow(method).by === 'secondary',
)

/**
 * Creates the link to a primary.
 * @param keys of this cluster
 */
export function createSourceLink(
  end: LinkEnd & { keys: LinkPublicKeys },
  around: LinkCallContext,
): SourceLink {
  const ask = createLinkCallSender(end, around)
  /** the source's lineage as of its last heartbeat; the source refuses calls with another lineage */
  let lineage: JournalLineage = []
  let took = 0
  const asking = answeredBySource.map(method => [
    method[0]?.toLowerCase() + method.slice(1),
    async (request: MethodQuestion<typeof method>) => (await ask(method, request, lineage)).reply,
  ])

  return {
    ...(Object.fromEntries(asking) as SourceLink),
    activate: async request => {
      const question = makeActivationQuestion(request, end, around.entropy.bytes)
      const { reply } = await ask('Activate', question, lineage)
      checkFormat(reply.format)
      lineage = reply.lineage
      const { format: _, ...activated } = reply
      return { ...activated, set: end.set, primaryKey: Buffer.from(end.otherKey).toString('base64') }
    },
    heartbeat: async request => {
      const asked = around.clock.now()
      const { reply, time } = await ask(
        'Heartbeat',
        { ...request, format: LINK_FORMAT, roundTripMs: took },
        lineage,
      )
      const now = around.clock.now()
      took = now - asked
      checkFormat(reply.format)
      lineage = reply.lineage
      return {
        ...reply,
        time,
        roundTripMs: took,
        skewMs: Math.round(time - (asked + now) / 2),
      } satisfies HeartbeatAnswer
    },
    entries: async request => {
      const { reply } = await ask('Entries', request, lineage)
      if (reply.kind === 'entries') lineage = reply.lineage
      return reply
    },
    items: request => fetchAllItems(part => ask('Items', part, lineage), request),
  }
}

/**
 * Rejects a source with a higher format, because this version could misread its messages, and a source that names no
 * format.
 */
function checkFormat(format: number): void {
  if (format < 1) throw new LinkSilent('the primary does not state its link format')
  if (format > LINK_FORMAT) throw primaryTooNewError(format)
}

/** Repeats the question until all keys are answered, and returns the head of the last answer. */
async function fetchAllItems(
  ask: (part: ItemsRequest) => Promise<{ reply: ItemsAnswer }>,
  { keys }: ItemsRequest,
): Promise<ItemsAnswer> {
  const items: (StoredItem | undefined)[] = []
  for (;;) {
    const { reply } = await ask({ keys: keys.slice(items.length, items.length + MAX_KEYS_PER_MESSAGE) })
    items.push(...reply.items)
    if (items.length >= keys.length) return { ...reply, items }
    if (reply.items.length === 0) throw new LinkSilent('the primary’s answer covers none of the keys')
  }
}
