import type { Acl } from '../model/acl.ts'
import type { Mount, MountTable } from '../model/mount.ts'
import type { Token } from '../model/token.ts'
import type { WrapInfo } from '../model/wrapped.ts'
import type { ClusterRead, Items, Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import type { Item, Key, Kind } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import type { Secret } from '../values/secret.ts'
import { ApiError } from './errors.ts'
import type { Fields, Supplied } from './fields.ts'

/** Who calls. */
export interface Caller {
  token: Readonly<Token>
  /** the stored token; absent for a batch token */
  item?: Item<'token'>
  /** names the token in logs; empty for a batch token */
  accessor: string
  /** the token itself, for answers that repeat it */
  text: Secret
  rights: Acl
  /** policies of the entity, not stored on the token */
  identityPolicies: readonly string[]
}

/** A DR operation token: the one that was generated on this cluster, or a batch token, whose holder is the caller. */
export type Operator = 'generated' | 'batch'

/** What is known of a request before anything has been read. */
export interface Early<F extends Fields = Fields> {
  readonly request: RequestFacts
  readonly pathParameters: Readonly<Record<string, string>>
  readonly parameters: Supplied<F>
  readonly ports: Ports
}

export interface RequestFacts {
  id: string
  /** what the front end calls the request; empty when it was invoked directly */
  gatewayId: string
  /** without `/v1/` and leading slash, as typed: what policies are evaluated on */
  path: string
  operation: Operation
  /** address of the peer */
  source: string
  /** name under which the API was called; empty where the front end does not know it */
  domain: string
  /** epoch milliseconds; calls to the provider end before */
  deadline: number
  /** seconds, when the caller asked for a wrapped answer */
  wrapTtl?: number
}

export type Operation = 'write' | 'read' | 'list' | 'delete'

/** What the handler of an endpoint is given that serves `always`: facts that were read for it, and the ports. */
export interface AlwaysCall<F extends Fields = Fields> extends Early<F> {
  /** epoch milliseconds, the same for the whole request */
  readonly now: number
  /** absent before initialisation */
  readonly cluster?: ClusterRead
  readonly mounts: MountTable
  /** the mount that the path names */
  readonly mount?: Mount
  /** the token that came with the request, whether or not it is valid */
  readonly bearer?: Secret
  /** parameters as sent, for the one endpoint that takes any */
  readonly raw: Readonly<Record<string, unknown>>
  readonly caller?: Caller
  /** what kind of DR operation token the request was admitted by; absent: by none */
  readonly operator?: Operator
  /** where the item stands that the endpoint is about */
  readonly subjectKey?: Key | undefined
  /** that item, if there is one, read together with the caller's policies */
  readonly subject?: Item | undefined
  /** items fetched because `prepare` asked for them */
  readonly fetched: Fetched
  /** what `prepare` found out */
  readonly prepared: unknown
}

/** What a handler is given: the cluster is initialised. */
export interface Call<F extends Fields = Fields> extends AlwaysCall<F> {
  readonly cluster: ClusterRead
}

/** What a handler below `auth/:mount` is given: the mount is there. */
export interface MountCall<F extends Fields = Fields> extends Call<F> {
  readonly mount: Mount
}

/** Items read so far in this attempt, by key. `has` tells "looked for and absent" from "not looked for". */
export interface Fetched {
  /** all that were looked for */
  keys(): readonly Key[]
  has(key: Key): boolean
  get<K extends Kind>(key: Key<K>): Item<K> | undefined
  keep(key: Key, item: Item | undefined): void
  /** Items of these keys: those that were looked for already, and one batch read of the others. */
  read<const K extends readonly Key[]>(keys: K): Promise<Items<K>>
}

/** What a handler decided: an answer, and what has to be written before it may be given. */
export interface Outcome {
  answer: Answer
  changes?: readonly Change[]
  /** what the caller is told instead of the answer, once the changes have been written */
  fault?: ApiError
  /** cleaning up that may follow the commit; it fails without a word to the caller, and tidy does what it leaves undone */
  afterwards?: () => Promise<void>
  /** finds the warnings that nobody can know before the commit */
  lateWarnings?: () => Promise<readonly string[]>
}

/** A question to AWS. `key` holds everything that shapes the answer: within a request, equal keys share one answer. */
export interface ProviderQuestion<T> {
  key: string
  ask: () => Promise<T>
  /** names what the answer makes worth reading, for a request that reads again */
  leadsTo?: (answer: T) => readonly Key[]
}

/** Asks AWS, or returns the answer that the request got to this question before. */
export type AskProvider = <T>(question: ProviderQuestion<T>) => Promise<T>

/**
 * The phases of a request that asks AWS. The dispatcher walks them in this order, and again when the commit is lost. It
 * keeps the answers by their keys, so that a question is asked again only if its key has changed.
 */
export interface Phases<C = AlwaysCall, I = unknown, G = unknown, A = unknown> {
  /**
   * Whether the request is decided by what is stored once AWS has answered: after each phase that has asked, the
   * dispatcher reads everything again and walks from the first phase.
   */
  rereads?: true
  /** Finds out whom the request is about, where that has to be known before the rest is read. */
  identify?(call: C, ask: AskProvider): Promise<I>
  /** Reads what the request depends on, and makes the checks that need no answer of AWS. */
  gather(call: C, identity: I): G | Promise<G>
  /** Asks what only AWS knows. */
  ask(call: C, gathered: G, ask: AskProvider): Promise<A>
  decide(call: C, gathered: G, answers: A): Outcome | Promise<Outcome>
}

/** `retryAfter`: seconds after which the same request may be answered with more, in the header of that name */
export type Answer = { warnings?: readonly string[]; retryAfter?: number } & (
  | { kind: 'nothing' }
  | { kind: 'data'; data: Readonly<Record<string, unknown>>; status?: 200 | 202 }
  | { kind: 'keys'; keys: readonly string[]; info?: Readonly<Record<string, unknown>> }
  | { kind: 'auth'; auth: Auth }
  | { kind: 'accepted' }
  | { kind: 'plain'; status: number; body: Readonly<Record<string, unknown>> }
  | { kind: 'unwrapped'; body: string }
  | { kind: 'wrapped'; info: WrapInfo }
)

/** The `auth` object of an answer. @see docs/spec/transport.md#successes */
export interface Auth {
  client_token: string
  accessor: string
  policies: readonly string[]
  token_policies?: readonly string[]
  identity_policies?: readonly string[]
  metadata: Readonly<Record<string, string>> | null
  lease_duration: number
  renewable: boolean
  entity_id: string
  token_type: 'service' | 'batch'
  orphan: boolean
  mfa_requirement: null
  num_uses: number
}

const withWarnings = (warnings: readonly string[]) => (warnings.length > 0 ? { warnings } : {})

/** The same answer with further warnings. */
export const addWarnings = (answer: Answer, more: readonly string[]): Answer =>
  more.length > 0 ? { ...answer, warnings: [...(answer.warnings ?? []), ...more] } : answer

/** 204, or 200 with `data: null` when there are warnings. */
export const noContent = (warnings: readonly string[] = []): Answer => ({
  kind: 'nothing',
  ...withWarnings(warnings),
})

/** 200 with data. */
export const data = (body: Readonly<Record<string, unknown>>, warnings: readonly string[] = []): Answer => ({
  kind: 'data',
  data: body,
  ...withWarnings(warnings),
})

/** 200 with sorted keys, or 404 when there are none. */
export const keyList = (names: readonly string[], info?: Readonly<Record<string, unknown>>): Answer =>
  defined({
    kind: 'keys',
    keys: names,
    info,
  })

/** 202: work goes on in the background. */
export const accepted = (warning: string): Answer => ({ kind: 'accepted', warnings: [warning] })

/** An answer with nothing to write. */
export const answer = (result: Answer): Outcome => ({ answer: result })

/** An answer that is given once the changes have been written. */
export const answerAfter = (changes: readonly Change[], result: Answer = noContent()): Outcome => ({
  answer: result,
  changes,
})

/** The caller of an endpoint that is not anonymous. */
export function callerOf(call: Pick<Call, 'caller'>): Caller {
  if (!call.caller) throw new ApiError('permission_denied')
  return call.caller
}
