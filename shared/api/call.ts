import type { Acl } from '../model/acl.ts'
import type { Mount, MountTable } from '../model/mount.ts'
import type { Token } from '../model/token.ts'
import type { WrapInfo } from '../model/wrapped.ts'
import type { ClusterRead, ItemsOfKeys, Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import type { Item, Key, Kind } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import type { Secret } from '../values/secret.ts'
import { ApiError } from './errors.ts'
import type { ParameterFields, SuppliedParameters } from './fields.ts'

/** The authenticated caller. */
export interface Caller {
  token: Readonly<Token>
  /** stored token; absent for a batch token */
  item?: Item<'token'>
  /** identifies the token in logs; empty for a batch token */
  accessor: string
  /** text of the token, for responses that repeat it */
  text: Secret
  rights: Acl
  /** policies of the entity, not stored on the token */
  identityPolicies: readonly string[]
}

/** The kind of DR operation token: generated on this cluster, or a batch token, whose holder is the caller. */
export type OperationTokenKind = 'generated' | 'batch'

/** The facts of a request before the first read. */
export interface EarlyCall<F extends ParameterFields = ParameterFields> {
  readonly request: RequestFacts
  readonly pathParameters: Readonly<Record<string, string>>
  readonly parameters: SuppliedParameters<F>
  readonly ports: Ports
}

export interface RequestFacts {
  id: string
  /** request ID of the front end; empty for a direct invocation */
  gatewayId: string
  /** path without `/v1/` and leading slash, as sent; policies are evaluated on it */
  path: string
  operation: Operation
  /** address of the client */
  source: string
  /** domain name of the API; empty if the front end does not report it */
  domain: string
  /** epoch milliseconds; calls to AWS must end before it */
  deadline: number
  /** seconds; set if the client requested response wrapping */
  wrapTtl?: number
}

export type Operation = 'write' | 'read' | 'list' | 'delete'

/** The call that a handler of an `always` endpoint gets: the facts read for it, and the ports. */
export interface AlwaysServedCall<F extends ParameterFields = ParameterFields> extends EarlyCall<F> {
  /** epoch milliseconds, constant during the request */
  readonly now: number
  /** absent before initialisation */
  readonly cluster?: ClusterRead
  readonly mounts: MountTable
  /** mount named in the path */
  readonly mount?: Mount
  /** token of the request, valid or not */
  readonly bearer?: Secret
  /** parameters as sent, for the endpoint that accepts any */
  readonly raw: Readonly<Record<string, unknown>>
  readonly caller?: Caller
  /** kind of the DR operation token that admitted the request; absent: none did */
  readonly operator?: OperationTokenKind
  /** key of the endpoint's subject */
  readonly subjectKey?: Key | undefined
  /** the subject, if it exists; read together with the caller's policies */
  readonly subject?: Item | undefined
  /** items that `prepare` requested */
  readonly fetched: FetchedItems
  /** result of `prepare` */
  readonly prepared: unknown
}

/** The call that a handler of an initialised cluster gets. */
export interface Call<F extends ParameterFields = ParameterFields> extends AlwaysServedCall<F> {
  readonly cluster: ClusterRead
}

/** The call that a handler below `auth/:mount` gets: the mount exists. */
export interface MountCall<F extends ParameterFields = ParameterFields> extends Call<F> {
  readonly mount: Mount
}

/** The items read in this attempt, by key. `has` distinguishes an absent item from a key that was not read. */
export interface FetchedItems {
  /** all keys that were read */
  keys(): readonly Key[]
  has(key: Key): boolean
  get<K extends Kind>(key: Key<K>): Item<K> | undefined
  keep(key: Key, item: Item | undefined): void
  /** Returns the items of these keys. Reads the keys that were not read yet in one batch. */
  read<const K extends readonly Key[]>(keys: K): Promise<ItemsOfKeys<K>>
}

/** The decision of a handler: a response, and the changes to commit before it is sent. */
export interface CallOutcome {
  answer: Answer
  changes?: readonly Change[]
  /** error to send instead of the response, after the changes are committed */
  fault?: ApiError
  /** Cleans up after the commit. The client does not see errors of this cleanup; tidy finishes the work later. */
  afterwards?: () => Promise<void>
  /** Returns warnings that are known only after the commit. */
  lateWarnings?: () => Promise<readonly string[]>
}

/** A question to AWS. `key` contains everything that affects the answer: within a request, equal keys share one answer. */
export interface AwsQuestion<T> {
  key: string
  ask: () => Promise<T>
  /** Returns the keys that the answer makes worth reading, for a request that reads again. */
  leadsTo?: (answer: T) => readonly Key[]
}

/** Asks AWS, or returns the request's earlier answer to the same question. */
export type AskAws = <T>(question: AwsQuestion<T>) => Promise<T>

/**
 * The phases of a request that calls AWS. The dispatcher runs them in order, and again after a commit conflict. The
 * dispatcher caches the answers of AWS by key, so it repeats a question only if the question's key has changed.
 */
export interface RequestPhases<C = AlwaysServedCall, I = unknown, G = unknown, A = unknown> {
  /**
   * Set if the request must be decided by what is stored after AWS has answered. After each phase that has called AWS, the
   * dispatcher then reads everything again and restarts with the first phase.
   */
  rereads?: true
  /** Determines the subject of the request if the reads depend on it. */
  identify?(call: C, ask: AskAws): Promise<I>
  /** Reads what the request depends on, and runs the checks that need no answer from AWS. */
  gather(call: C, identity: I): G | Promise<G>
  /** Asks AWS. */
  ask(call: C, gathered: G, ask: AskAws): Promise<A>
  decide(call: C, gathered: G, answers: A): CallOutcome | Promise<CallOutcome>
}

/** A response. `retryAfter`: seconds after which the same request may return more; sent in the header of that name. */
export type Answer = { warnings?: readonly string[]; retryAfter?: number } & (
  | { kind: 'nothing' }
  | { kind: 'data'; data: Readonly<Record<string, unknown>>; status?: 200 | 202 }
  | { kind: 'keys'; keys: readonly string[]; info?: Readonly<Record<string, unknown>> }
  | { kind: 'auth'; auth: ResponseAuth }
  | { kind: 'accepted' }
  | { kind: 'plain'; status: number; body: Readonly<Record<string, unknown>> }
  | { kind: 'unwrapped'; body: string }
  | { kind: 'wrapped'; info: WrapInfo }
)

/** The `auth` object of a response. @see docs/spec/transport.md#successes */
export interface ResponseAuth {
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

/** Adds warnings to a response. */
export const addWarnings = (answer: Answer, more: readonly string[]): Answer =>
  more.length > 0 ? { ...answer, warnings: [...(answer.warnings ?? []), ...more] } : answer

/** Builds a 204 response, or 200 with `data: null` if there are warnings. */
export const noContentAnswer = (warnings: readonly string[] = []): Answer => ({
  kind: 'nothing',
  ...withWarnings(warnings),
})

/** Builds a 200 response with data. */
export const dataAnswer = (
  body: Readonly<Record<string, unknown>>,
  warnings: readonly string[] = [],
): Answer => ({
  kind: 'data',
  data: body,
  ...withWarnings(warnings),
})

/** Builds a 200 response with sorted keys, or 404 if there are no keys. */
export const keyListAnswer = (names: readonly string[], info?: Readonly<Record<string, unknown>>): Answer =>
  defined({
    kind: 'keys',
    keys: names,
    info,
  })

/** Builds a 202 response: the work continues in the background. */
export const acceptedAnswer = (warning: string): Answer => ({ kind: 'accepted', warnings: [warning] })

/** Builds an outcome without changes. */
export const answer = (result: Answer): CallOutcome => ({ answer: result })

/** Builds an outcome whose response is sent after the changes are committed. */
export const answerAfterChanges = (
  changes: readonly Change[],
  result: Answer = noContentAnswer(),
): CallOutcome => ({
  answer: result,
  changes,
})

/** Returns the caller of an endpoint that requires a token. */
export function callerOf(call: Pick<Call, 'caller'>): Caller {
  if (!call.caller) throw new ApiError('permission_denied')
  return call.caller
}
