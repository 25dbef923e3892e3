import { fromBinary } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect'
import type { EndpointUse } from '../api/endpoint.ts'
import type { LinkMethod } from '../wire/carry.ts'
import { type Answer, AnswerSchema, type Call, CallSchema, LinkService } from '../wire/gen/link_pb.ts'
import type { RefusalCode } from './source.ts'

/**
 * The uses of the link's function: it reads replicated items, writes its knowledge of other members, and hands
 * over.
 */
export const linkUses: readonly EndpointUse[] = ['read', 'scan', 'journal', 'pull', 'link', 'role']

/** The prefix of the link's paths. The link's paths are not part of the API and are outside `/v1`. */
export const linkPath = `/${LinkService.typeName}/`

/**
 * Answers a link call.
 * @param reachedAt address at which the call arrived
 */
export type AnswerLinkCall = (method: LinkMethod, call: Call, reachedAt: string) => Promise<Answer>

const codes: Readonly<Record<RefusalCode, Code>> = {
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  failed_precondition: Code.FailedPrecondition,
  unavailable: Code.Unavailable,
  invalid_argument: Code.InvalidArgument,
}

/**
 * Adds the link's service to a router. The service sends a refusal as an error with its code, and the signed answer
 * is the error's detail.
 */
export const createLinkRoutes =
  (answering: AnswerLinkCall) =>
  (router: ConnectRouter): ConnectRouter => {
    const by = (method: LinkMethod) => async (call: Call, context: HandlerContext) =>
      throwRefusal(await answering(method, call, new URL(context.url).origin))
    const all = LinkService.methods.map(({ localName, name }) => [localName, by(name as LinkMethod)])
    return router.service(LinkService, Object.fromEntries(all) as ServiceImpl<typeof LinkService>)
  }

function throwRefusal(answer: Answer): Answer {
  if (answer.outcome.case !== 'refusal') return answer
  const { code, text } = answer.outcome.value
  throw new ConnectError(text, codes[code as RefusalCode] ?? Code.Unknown, undefined, [
    { desc: AnswerSchema, value: answer },
  ])
}

/** Reports whether bytes are a link `Call`, whatever it contains. */
export function isLinkCallMessage(bytes: Uint8Array): boolean {
  try {
    return fromBinary(CallSchema, bytes) !== undefined
  } catch {
    return false
  }
}
