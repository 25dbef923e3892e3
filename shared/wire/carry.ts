import type { Answer, Call, LinkService } from './gen/link_pb.ts'

/** What one cluster may ask of another: a method of the interface, by its name there. */
export type Method = Capitalize<keyof typeof LinkService.method & string>

/** Carries a call and brings its answer. @throws FrontAnswered; whatever else when none comes in time */
export type Carry = (method: Method, call: Call, timeoutMs: number) => Promise<Answer>

/** Makes what carries calls to some addresses. @param to `ca`: certificates in PEM, instead of the usual ones */
export type CarryTo = (to: { addresses: readonly string[]; ca?: string | undefined }) => Carry

/** Somebody answered what is no answer of the link: the front of a cluster that cannot answer itself, as it seems. */
export class FrontAnswered extends Error {
  override readonly name = 'FrontAnswered'
}
