import type { Lineage } from '../journal/position.ts'
import type { StoredItem } from '../storage/requests.ts'
import { makeActivationQuestion } from './activation-request.ts'
import { type CallContext, createSendCall, type LinkEnd } from './call.ts'
import { type CodeName, type MethodBy, methodNames, type Question, type Reply, rowOf } from './methods.ts'
import type { LinkKeys } from './pair.ts'
import { primaryTooNewError } from './refusals.ts'
import {
  type Activated,
  type ActivateRequest,
  FORMAT,
  type HeartbeatAnswer,
  type HeartbeatRequest,
  type ItemsAnswer,
  type ItemsRequest,
  LinkSilent,
  MOST_KEYS,
} from './source.ts'

type AnsweredBySource = MethodBy<'secondary'>

/**
 * The methods that a primary answers, by the names of their rows. All but `activate`, `heartbeat` and `handover` may
 * be sent twice.
 * @throws LinkRefused when the primary refuses, in a signed answer; LinkSilent when there is no acceptable answer
 */
export type SourceLink = {
  [M in Exclude<AnsweredBySource, 'Heartbeat'> as CodeName<M>]: (request: Question<M>) => Promise<Reply<M>>
} & {
  activate(request: ActivateRequest): Promise<Activated>
  heartbeat(request: HeartbeatRequest): Promise<HeartbeatAnswer>
}

const answeredBySource = methodNames.filter(
  (method): method is AnsweredBySource => rowOf(method).by === 'secondary',
)

/**
 * Creates the link to a primary.
 * @param keys of this cluster
 */
export function createSourceLink(end: LinkEnd & { keys: LinkKeys }, around: CallContext): SourceLink {
  const ask = createSendCall(end, around)
  /** the source's lineage as of its last heartbeat; the source refuses calls with another one */
  let lineage: Lineage = []
  let took = 0
  const asking = answeredBySource.map(method => [
    method[0]?.toLowerCase() + method.slice(1),
    async (request: Question<typeof method>) => (await ask(method, request, lineage)).reply,
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
        { ...request, format: FORMAT, roundTripMs: took },
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
  if (format < 1) throw new LinkSilent('the primary names no format of the link')
  if (format > FORMAT) throw primaryTooNewError(format)
}

/** Asks until all keys are answered, and returns the head of the last answer. */
async function fetchAllItems(
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
