import {
  type AlwaysCall,
  type Answer,
  type AskProvider,
  addWarnings,
  type Outcome,
  type Phases,
  type ProviderQuestion,
} from '../api/call.ts'
import { type Endpoint, type Group, handlerOf } from '../api/endpoint.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { BY_ROLE, countRefusal, isRoleRefusal, logRefusalCounts } from '../journal/counted-refusals.ts'
import { isActive } from '../model/cluster.ts'
import { findMountByPath } from '../model/mount.ts'
import { makeTokenText } from '../model/token.ts'
import type { WrapInfo } from '../model/wrapped.ts'
import type { Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { UnknownFormat } from '../storage/format.ts'
import type { Key } from '../storage/kinds.ts'
import { wrap } from '../tokens/wrapping.ts'
import { defined } from '../values/defined.ts'
import type { LoginAttempt } from '../watching/logins.ts'
import { admit } from './admit.ts'
import { auditTrail, type Trail } from './audit.ts'
import type { LiveToken } from './authenticate.ts'
import { type Base, findMount, readBase } from './base.ts'
import { checkCluster, checkRole } from './gate.ts'
import { type Intake, readIntake } from './intake.ts'
import { type Frame, render, renderError, renderWrapped, responseEnvelope } from './render.ts'
import type { HttpRequest, HttpResponse } from './request.ts'

/** The result of one request, for its log line. */
export interface Served {
  /** request ID of this service; also in the response */
  id: string
  response: HttpResponse
  operation: string
  accessor: string
  error?: ApiError
  /** set for a login */
  login?: LoginAttempt
}

/**
 * Serves the requests of a group. Order of the checks: path, verb and namespace, cluster role, body, authentication, policy,
 * parameters, state.
 */
export const serve =
  (group: Group, ports: Ports) =>
  async (request: HttpRequest): Promise<Served> => {
    const id = ports.entropy.uuid()
    let operation = 'refused early'
    let login: LoginAttempt | undefined
    const served = ({ headers, ...response }: HttpResponse, accessor = '', error?: ApiError): Served =>
      defined({
        id,
        response: { ...response, headers: { ...headers, 'x-request-id': id } },
        operation,
        accessor,
        error,
        login,
      })
    try {
      const intake = await readIntake(group, request, id, ports)
      const endpoint = intake.match.kind === 'miss' ? undefined : intake.match.endpoint
      const trail = endpoint?.unaudited ? undefined : auditTrail(intake, ports)
      operation = endpoint ? `${endpoint.method} ${endpoint.path}` : 'no endpoint'
      await logRefusalCounts(ports)
      const state: State = { accessor: '', login: endpoint?.login?.(intake.parameters) }
      login = state.login
      try {
        return served(await attempt(intake, trail, ports, state), state.accessor)
      } catch (error) {
        const known = asApiError(error)
        if (isRoleRefusal(known)) await countRefusal(BY_ROLE, operation, ports)
        else if (!state.uninitialised) await trail?.response({ kind: 'failed', error: known })
        return served(renderError(known), state.accessor, known)
      }
    } catch (error) {
      const known = asApiError(error)
      return served(renderError(known), '', known)
    }
  }

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return error instanceof UnknownFormat
    ? new ApiError(error.code, error.message, { cause: error })
    : new ApiError('internal', '', { cause: error })
}

/** State that later attempts and the log line need. */
interface State {
  accessor: string
  /**
   * Set before initialisation, when no key for the HMACs of audit entries exists. Only the request that initialises the cluster
   * writes entries, at its end.
   */
  uninitialised?: true
  alive?: LiveToken
  /** result of the row's `first`, once it has run */
  first?: { result: unknown }
  /** set for a login; its mount is added after the look-up */
  login?: LoginAttempt | undefined
}

const COMMIT_TRIES = 4
/** How often the dispatcher reads again because a setting that affects a question to AWS has changed. */
const ROUNDS = 4

// Reads everything again after a commit conflict, and after AWS has answered if the phases require it.
async function attempt(
  intake: Intake,
  trail: Trail | undefined,
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
      return info ? renderWrapped(info, frame) : render(answer, frame)
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
  | { kind: 'decided'; outcome: Outcome }
  /** `keys`: additional keys to read, derived from the answers */
  | { kind: 'reread'; keys: readonly Key[] }

async function handled(call: Ready, answers: Answers, state: State): Promise<Step> {
  const { first } = call.endpoint
  const handle = handlerOf(call.endpoint, call)
  if (typeof handle !== 'function') return runPhases(handle.phases(call), call, answers)
  if (first) state.first ??= { result: await first(call) }
  return { kind: 'decided', outcome: await handle(call, state.first?.result) }
}

/** Runs the phases of a request that calls AWS. */
export async function runPhases<C, I, G, A>(
  phases: Phases<C, I, G, A>,
  call: C,
  answers: Answers,
): Promise<Step> {
  const keys: Key[] = []
  const before = answers.size
  const ask: AskProvider = async <T>({ key, ask, leadsTo }: ProviderQuestion<T>) => {
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
const isIdle = ({ answer }: Outcome, changes: readonly Change[]): boolean =>
  changes.length === 0 && answer.kind !== 'auth'

/** Returns the mount from the environment's memory, for requests that are rejected without reading the mounts. */
const knownMount = (pathParameters: Readonly<Record<string, string>>, { memory }: Ports) =>
  memory.mounts && findMount(pathParameters, { mounts: memory.mounts.table })

type Ready = AlwaysCall & { endpoint: Endpoint }

interface Attempt {
  first: boolean
  /** keys to read besides those of every request */
  more: readonly Key[]
}

async function admitted(
  intake: Intake,
  trail: Trail | undefined,
  ports: Ports,
  state: State,
  { first, more }: Attempt,
): Promise<Ready> {
  const { match } = intake
  const base = await readBase(intake, more, ports)
  const endpoint = match.kind === 'miss' ? undefined : match.endpoint
  if (!base.cluster) state.uninitialised = true
  checkCluster(base, match.kind === 'miss' ? match.serves : match.endpoint.serves, ports.deployment)
  const mount = findMount(match.pathParameters, base)
  if (state.login) state.login.mount = (mount ?? knownMount(match.pathParameters, ports))?.path
  const tuned =
    mount ?? (match.path.startsWith('auth/token/') ? findMountByPath(base.mounts, 'token') : undefined)
  const admission = await admit(intake, base, mount, ports, state).catch(async (error: unknown) => {
    if (first && base.cluster) await trail?.request({ mount, tuned }, asApiError(error))
    throw error
  })
  state.accessor = admission?.caller?.accessor ?? ''
  if (first && base.cluster)
    await trail?.request({ caller: admission?.caller, operator: admission?.operator, mount, tuned })
  if (!endpoint) throw missed(intake)
  if (intake.fault) throw intake.fault
  checkRole(base, endpoint.serves)
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
function checkWrapping({ cluster }: Base, { facts }: Intake): void {
  if (facts.wrapTtl !== undefined && cluster && !isActive(cluster.record))
    throw invalidRequestError(
      'X-Vault-Wrap-TTL cannot be used on a DR secondary, because it stores nothing of its own',
    )
}

const missed = ({ match }: Intake): ApiError =>
  match.kind === 'miss'
    ? new ApiError(match.miss === 'operation' ? 'unsupported_operation' : 'unsupported_path', match.hint)
    : new ApiError('unsupported_path')

/** Returns the changes to commit, including the wrapped response if the client requested one. */
async function completed(
  { answer, changes = [] }: Outcome,
  call: Ready,
  endpoint: Endpoint,
  { facts, warnings, unknownFields }: Intake,
  { cipher, entropy }: Ports,
): Promise<{ changes: Outcome['changes'] & {}; info?: WrapInfo; frame: Frame }> {
  const frame: Frame = {
    requestId: facts.id,
    mountType: call.mount?.type ?? (facts.path.startsWith('auth/token/') ? 'token' : 'system'),
    mirrored: endpoint.mirrored ?? false,
    warnings,
    unknownFields,
  }
  const body =
    facts.wrapTtl === undefined || !isWrappable(answer) ? undefined : responseEnvelope(answer, frame)
  if (body === undefined || facts.wrapTtl === undefined) return { changes, frame }
  const { info, change } = await wrap(
    {
      response: JSON.stringify(body),
      path: facts.path,
      mount: call.mount?.accessor,
      ttl: facts.wrapTtl,
      now: call.now,
      wrappedAccessor: answer.kind === 'auth' ? answer.auth.accessor : '',
      text: makeTokenText(entropy.bytes),
    },
    cipher,
  )
  return { changes: [...changes, change], info, frame }
}

const isWrappable = (answer: Answer): boolean =>
  answer.kind === 'data' || answer.kind === 'auth' || (answer.kind === 'keys' && answer.keys.length > 0)
