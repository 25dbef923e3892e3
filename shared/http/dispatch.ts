import {
  type AlwaysServedCall,
  type Answer,
  type AskAws,
  type AwsQuestion,
  addWarnings,
  type CallOutcome,
  type RequestPhases,
} from '../api/call.ts'
import { type Endpoint, type EndpointGroup, handlerOf } from '../api/endpoint.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import {
  countRefusal,
  isRoleRefusal,
  logRefusalCounts,
  REFUSED_BY_ROLE,
} from '../journal/counted-refusals.ts'
import { isActiveRecord } from '../model/cluster.ts'
import { findMountByPath } from '../model/mount.ts'
import { generateServiceTokenText } from '../model/token.ts'
import type { WrapInfo } from '../model/wrapped.ts'
import type { Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { UnknownFormatError } from '../storage/format.ts'
import type { Key } from '../storage/kinds.ts'
import { wrapResponse } from '../tokens/wrapping.ts'
import { defined } from '../values/defined.ts'
import type { LoginAttempt } from '../watching/logins.ts'
import { admitCaller } from './admit.ts'
import { type AuditTrail, createAuditTrail } from './audit.ts'
import type { ValidToken } from './authenticate.ts'
import { type FirstRead, findMount, readFirst } from './base.ts'
import { checkClusterRole, checkClusterServes } from './gate.ts'
import { type RequestIntake, readRequestIntake } from './intake.ts'
import {
  type ResponseFrame,
  renderErrorResponse,
  renderResponse,
  renderWrappedResponse,
  responseEnvelope,
} from './render.ts'
import type { HttpRequest, HttpResponse } from './request.ts'

/** The result of one request, for its log line. */
export interface ServedRequest {
  /** request ID of this service; also in the response */
  id: string
  response: HttpResponse
  operation: string
  accessor: string
  error?: ApiError
  /** `login` is set for a login */
  login?: LoginAttempt
}

/**
 * Serves the requests of a group. Order of the checks: path, verb and namespace, cluster role, body, authentication, policy,
 * parameters, state.
 */
export const createDispatcher =
  (group: EndpointGroup, ports: Ports) =>
  async (request: HttpRequest): Promise<ServedRequest> => {
    const id = ports.entropy.uuid()
    let operation = 'refused early'
    let login: LoginAttempt | undefined
    const served = ({ headers, ...response }: HttpResponse, accessor = '', error?: ApiError): ServedRequest =>
      defined({
        id,
        response: { ...response, headers: { ...headers, 'x-request-id': id } },
        operation,
        accessor,
        error,
        login,
      })
    try {
      const intake = await readRequestIntake(group, request, id, ports)
      const endpoint = intake.match.kind === 'miss' ? undefined : intake.match.endpoint
      const trail = endpoint?.unaudited ? undefined : createAuditTrail(intake, ports)
      operation = endpoint ? `${endpoint.method} ${endpoint.path}` : 'no endpoint'
      await logRefusalCounts(ports)
      const state: State = { accessor: '', login: endpoint?.login?.(intake.parameters) }
      login = state.login
      try {
        return served(await attempt(intake, trail, ports, state), state.accessor)
      } catch (error) {
        const known = asApiError(error)
        if (isRoleRefusal(known)) await countRefusal(REFUSED_BY_ROLE, operation, ports)
        else if (!state.uninitialised) await trail?.response({ kind: 'failed', error: known })
        return served(renderErrorResponse(known), state.accessor, known)
      }
    } catch (error) {
      const known = asApiError(error)
      return served(renderErrorResponse(known), '', known)
    }
  }

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return error instanceof UnknownFormatError
    ? new ApiError(error.code, error.message, { cause: error })
    : new ApiError('internal', '', { cause: error })
}

/** State that later attempts and the log line need. */
interface State {
  accessor: string
  /**
   * Set before initialisation, when no key for the HMACs of audit entries exists. On such a cluster only the
   * request that initialises the cluster writes audit entries, at its end.
   */
  uninitialised?: true
  alive?: ValidToken
  /** result of the endpoint's `first`; absent until `first` has run */
  first?: { result: unknown }
  /** set for a login; its mount is added after the look-up */
  login?: LoginAttempt | undefined
}

const COMMIT_TRIES = 4
/** How often the dispatcher reads again because a setting that affects a question to AWS has changed. */
const ROUNDS = 4

// Reads everything again after a commit conflict, and after AWS has answered if the phases require it.
async function attempt(
  intake: RequestIntake,
  trail: AuditTrail | undefined,
  ports: Ports,
  state: State,
): Promise<HttpResponse> {
  const answers: Answers = new Map()
  let more = intake.keys
  let rounds = 0
  let lost = 0
  for (;;) {
    const call = await admitted(intake, trail, ports, state, { first: lost + rounds === 0, more })
    const { endpoint } = call
    const step = await handled(call, answers, state)
    if (step.kind === 'reread') {
      rounds += 1
      if (rounds > ROUNDS)
        throw new ApiError('busy', 'the settings changed while the request was processed; try again', {
          retryAfter: 1,
        })
      more = [...call.fetched.keys(), ...step.keys]
      continue
    }
    const { outcome } = step
    const { changes, info, frame } = await completed(outcome, call, endpoint, intake, ports)
    const done =
      isIdle(outcome, changes) ||
      (call.cluster && (await ports.store.commit(changes, call.cluster)) === 'done')
    if (done) {
      if (outcome.fault) throw outcome.fault
      await outcome.afterwards?.().catch((error: unknown) => {
        ports.log.warn('cleaning up', { id: intake.facts.id, operation: endpoint.path, cause: String(error) })
      })
      const more = (await outcome.lateWarnings?.().catch(() => undefined)) ?? []
      const answer = addWarnings(outcome.answer, more)
      await trail?.response(defined({ kind: 'answered' as const, answer, wrapped: info }))
      return info ? renderWrappedResponse(info, frame) : renderResponse(answer, frame)
    }
    lost += 1
    if (lost === COMMIT_TRIES)
      throw new ApiError('busy', 'too many concurrent writes to the same item; try again', { retryAfter: 1 })
    more = call.fetched.keys()
    await ports.clock.sleep((ports.entropy.bytes(1)[0] ?? 0) % (10 * lost))
  }
}

/** The answers of AWS, by the keys of their questions. */
type Answers = Map<string, unknown>

type Step =
  | { kind: 'decided'; outcome: CallOutcome }
  /** `keys`: additional keys to read, derived from the answers */
  | { kind: 'reread'; keys: readonly Key[] }

async function handled(call: Ready, answers: Answers, state: State): Promise<Step> {
  const { first } = call.endpoint
  const handle = handlerOf(call.endpoint, call)
  if (typeof handle !== 'function') return runPhases(await handle.phases(call), call, answers)
  if (first) state.first ??= { result: await first(call) }
  return { kind: 'decided', outcome: await handle(call, state.first?.result) }
}

/** Runs the phases of a request that calls AWS. */
export async function runPhases<C, I, G, A>(
  phases: RequestPhases<C, I, G, A>,
  call: C,
  answers: Answers,
): Promise<Step> {
  const keys: Key[] = []
  const before = answers.size
  const ask: AskAws = async <T>({ key, ask, leadsTo }: AwsQuestion<T>) => {
    if (answers.has(key)) return answers.get(key) as T
    const answer = await ask()
    answers.set(key, answer)
    if (leadsTo) keys.push(...leadsTo(answer))
    return answer
  }
  const isOutdated = () => phases.rereads === true && answers.size > before
  const identity = (await phases.identify?.(call, ask)) as I
  if (isOutdated()) return { kind: 'reread', keys }
  const gathered = await phases.gather(call, identity)
  const said = await phases.ask(call, gathered, ask)
  if (isOutdated()) return { kind: 'reread', keys }
  return { kind: 'decided', outcome: await phases.decide(call, gathered, said) }
}

// Issuing a batch token changes nothing, but its empty commit still rejects an outdated cluster record.
const isIdle = ({ answer }: CallOutcome, changes: readonly Change[]): boolean =>
  changes.length === 0 && answer.kind !== 'auth'

/** Returns the mount from the environment's memory, for requests that are rejected without reading the mounts. */
const knownMount = (pathParameters: Readonly<Record<string, string>>, { memory }: Ports) =>
  memory.mounts && findMount(pathParameters, { mounts: memory.mounts.table })

type Ready = AlwaysServedCall & { endpoint: Endpoint }

interface Attempt {
  first: boolean
  /** `more`: keys to read besides the keys of every request */
  more: readonly Key[]
}

async function admitted(
  intake: RequestIntake,
  trail: AuditTrail | undefined,
  ports: Ports,
  state: State,
  { first, more }: Attempt,
): Promise<Ready> {
  const { match } = intake
  const base = await readFirst(intake, more, ports)
  const endpoint = match.kind === 'miss' ? undefined : match.endpoint
  if (!base.cluster) state.uninitialised = true
  checkClusterServes(base, match.kind === 'miss' ? match.serves : match.endpoint.serves, ports.deployment)
  const mount = findMount(match.pathParameters, base)
  if (state.login) state.login.mount = (mount ?? knownMount(match.pathParameters, ports))?.path
  const tuned =
    mount ?? (match.path.startsWith('auth/token/') ? findMountByPath(base.mounts, 'token') : undefined)
  const admission = await admitCaller(intake, base, mount, ports, state).catch(async (error: unknown) => {
    if (first && base.cluster) await trail?.request({ mount, tuned }, asApiError(error))
    throw error
  })
  state.accessor = admission?.caller?.accessor ?? ''
  if (first && base.cluster)
    await trail?.request({ caller: admission?.caller, operator: admission?.operator, mount, tuned })
  if (!endpoint) throw missed(intake)
  if (intake.fault) throw intake.fault
  checkClusterRole(base, endpoint.serves)
  checkWrapping(base, intake)
  return defined({
    endpoint,
    request: intake.facts,
    pathParameters: match.pathParameters,
    parameters: intake.parameters,
    raw: intake.raw,
    bearer: intake.token,
    ports,
    now: base.now,
    cluster: base.cluster,
    mounts: base.mounts,
    mount,
    ...admission,
    fetched: base.fetched,
    prepared: intake.prepared,
  })
}

/** @throws ApiError if the client asks a DR secondary, which stores nothing for clients, to wrap a response */
function checkWrapping({ cluster }: FirstRead, { facts }: RequestIntake): void {
  if (facts.wrapTtl !== undefined && cluster && !isActiveRecord(cluster.record))
    throw invalidRequestError(
      'X-Vault-Wrap-TTL cannot be used on a DR secondary, because it stores nothing of its own',
    )
}

const missed = ({ match }: RequestIntake): ApiError =>
  match.kind === 'miss'
    ? new ApiError(match.miss === 'operation' ? 'unsupported_operation' : 'unsupported_path', match.hint)
    : new ApiError('unsupported_path')

/** Returns the changes to commit, including the wrapped response if the client requested one. */
async function completed(
  { answer, changes = [] }: CallOutcome,
  call: Ready,
  endpoint: Endpoint,
  { facts, warnings, unknownFields }: RequestIntake,
  { cipher, entropy }: Ports,
): Promise<{ changes: CallOutcome['changes'] & {}; info?: WrapInfo; frame: ResponseFrame }> {
  const frame: ResponseFrame = {
    requestId: facts.id,
    mountType: call.mount?.type ?? (facts.path.startsWith('auth/token/') ? 'token' : 'system'),
    mirrored: endpoint.mirrored ?? false,
    warnings,
    unknownFields,
  }
  const body =
    facts.wrapTtl === undefined || !isWrappable(answer) ? undefined : responseEnvelope(answer, frame)
  if (body === undefined || facts.wrapTtl === undefined) return { changes, frame }
  const { info, change } = await wrapResponse(
    {
      response: JSON.stringify(body),
      path: facts.path,
      mount: call.mount?.accessor,
      ttl: facts.wrapTtl,
      now: call.now,
      wrappedAccessor: answer.kind === 'auth' ? answer.auth.accessor : '',
      text: generateServiceTokenText(entropy.bytes),
    },
    cipher,
  )
  return { changes: [...changes, change], info, frame }
}

const isWrappable = (answer: Answer): boolean =>
  answer.kind === 'data' || answer.kind === 'auth' || (answer.kind === 'keys' && answer.keys.length > 0)
