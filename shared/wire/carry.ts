import type { Answer, Call, LinkService } from './gen/link_pb.ts'

/** A method of the link, by its name in the service definition. */
export type LinkMethod = Capitalize<keyof typeof LinkService.method & string>

/** Sends a call and returns its answer. @throws FrontAnswered; any other error if no answer comes in time */
export type CarryLinkCall = (method: LinkMethod, call: Call, timeoutMs: number) => Promise<Answer>

/** Builds a transport to some addresses. @param to `ca`: PEM certificates that replace the usual ones */
export type CreateLinkCarrier = (to: {
  addresses: readonly string[]
  ca?: string | undefined
}) => CarryLinkCall

/**
 * The response was not an answer of the link. Such a response probably came from the front end of a cluster that
 * cannot answer.
 */
export class FrontAnswered extends Error {
  override readonly name = 'FrontAnswered'
}
