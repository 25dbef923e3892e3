import { setTimeout } from 'node:timers/promises'
import { formatDuration } from '../../../shared/values/duration.ts'
import { isObject } from '../../../shared/values/json.ts'
import { describeRefusal, sendRequest } from '../ask.ts'
import type { ApiConnection, CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import type { ApiResponse } from '../exchange.ts'
import { createLoginBody, readLoginAuth } from '../login/login.ts'
import type { LoginOptions } from '../login/proofs.ts'
import type { NamedCluster } from '../set/look.ts'
import type { AgentChild } from './child.ts'
import {
  type AgentState,
  type AgentStep,
  afterFailure,
  afterLogin,
  afterLook,
  afterPause,
  afterRefusal,
  afterRenewal,
  afterVerification,
  decideAgentStep,
  initialAgentState,
  type KeptToken,
} from './decide.ts'
import type { AgentLock } from './lock.ts'
import { removeTokenFile, type TokenPlace, writeTokenFile } from './token-file.ts'

/** Settings of an agent: the sources of its token, and the receivers. */
export interface AgentTask {
  clusters: readonly NamedCluster[]
  login: LoginOptions
  environment: CommandEnvironment
  connection: ApiConnection
  everyMs: number
  /** absent: only the child gets the token */
  output?: { place: TokenPlace; lock: AgentLock }
  child?: AgentChild
  say(text: string): void
}

/** A running agent. */
export interface RunningAgent {
  /** works until the signal is aborted @throws CommandEnded if the agent cannot go on */
  run(signal: AbortSignal): Promise<void>
  /** revokes the token and removes its file */
  revoke(): Promise<void>
}

/** Longest time in milliseconds for the health of one cluster. */
const HEALTH_TIMEOUT_MS = 5000

/** The task of a running agent, with what the agent knows. */
interface Agent extends AgentTask {
  state: AgentState
  token?: string
}

export function createAgent(task: AgentTask): RunningAgent {
  const agent: Agent = { ...task, state: initialAgentState }
  return {
    run: async signal => {
      agent.connection = { ...task.connection, signal }
      while (!signal.aborted) {
        const step = decideAgentStep(agent.state, Date.now())
        if (step.do === 'wait') {
          // a timer holds at most 2^31 ms
          const ms = Math.min(Math.max(1, step.until - Date.now()), 2 ** 31 - 1)
          await setTimeout(ms, undefined, { signal }).catch(() => undefined)
          agent.state = afterPause(agent.state)
        } else
          await performStep(agent, step.do).catch((error: unknown) => {
            if (signal.aborted) return
            if (!isPassing(error, agent.token !== undefined)) throw error
            fail(agent, error instanceof Error ? error.message : String(error))
          })
      }
    },
    revoke: () => revokeToken({ ...agent, connection: task.connection }),
  }
}

async function performStep(agent: Agent, step: Exclude<AgentStep, { do: 'wait' }>['do']): Promise<void> {
  const { active, kept } = agent.state
  if (step === 'look') return look(agent)
  if (active === undefined) return fail(agent, 'No cluster serves')
  if (step === 'login') return logIn(agent, active)
  if (kept) return step === 'renew' ? renew(agent, active, kept) : verify(agent, active, kept)
}

async function look(agent: Agent): Promise<void> {
  const { everyMs, say, state } = agent
  const { active, reasons } = await findActiveCluster(agent)
  if (active === undefined) say(`No cluster serves: ${reasons.join('; ')}.`)
  else if (state.kept && active !== state.kept.cluster) say(`${nameOf(agent, active)} serves now.`)
  agent.state = afterLook(state, active, { now: Date.now(), everyMs, chance: Math.random() })
}

interface FoundCluster {
  /** base URL of the cluster that serves; undefined: no cluster serves */
  active: string | undefined
  /** reasons why the other clusters do not serve */
  reasons: readonly string[]
}

/** Asks the cluster that served last before the others, so the agent stays there while it serves. */
async function findActiveCluster({ clusters, state, connection }: Agent): Promise<FoundCluster> {
  const timeoutMs = Math.min(connection.timeoutMs, HEALTH_TIMEOUT_MS)
  const look = async ({ name, base }: NamedCluster) => {
    const answer = await sendRequest(base, 'sys/health', {}, { ...connection, timeoutMs }).catch(reasonOf)
    if (typeof answer === 'string') return { base, reason: `${name}: ${answer}` }
    return { base, reason: answer.status === 200 ? '' : `${name}: sys/health answers ${answer.status}` }
  }
  const last = clusters.find(one => one.base === (state.active ?? state.kept?.cluster))
  const first = last && (await look(last))
  if (first?.reason === '') return { active: first.base, reasons: [] }
  const others = await Promise.all(clusters.filter(one => one !== last).map(look))
  const active = others.find(({ reason }) => reason === '')?.base
  return { active, reasons: [...(first ? [first] : []), ...others].map(({ reason }) => reason) }
}

const nameOf = ({ clusters }: Agent, base: string): string =>
  clusters.find(one => one.base === base)?.name ?? base

function fail(agent: Agent, why: string): void {
  agent.state = afterFailure(agent.state, Date.now(), Math.random())
  const seconds = Math.max(0, Math.ceil((agent.state.retryAt - Date.now()) / 1000))
  agent.say(`${why}; trying again in ${seconds} s.`)
}

async function logIn(agent: Agent, base: string): Promise<void> {
  const { login, environment, connection, child, say } = agent
  const body = await createLoginBody({ ...login, base }, environment, say)
  const path = `auth/${login.mount}/login`
  const answer = await sendRequest(base, path, { method: 'POST', body }, connection)
  if (answer.status >= 300) {
    const refusal = `${path} on ${nameOf(agent, base)}: ${describeRefusal(answer)}`
    if (agent.token !== undefined || !isFinal(answer)) return fail(agent, refusal)
    throw new CommandEnded('refused', `${refusal}. To see each check, use cloud-auth explain`)
  }
  const auth = readLoginAuth(answer.body['auth'], base)
  const { client_token: token, lease_duration: lease, renewable = false } = auth
  if (!isLease(lease))
    throw new CommandEnded('refused', `${nameOf(agent, base)} gave a token with an invalid lease_duration`)
  storeToken(agent, token)
  agent.token = token
  // an instance must send the nonce of its first login again
  const nonce = auth.metadata?.['nonce']
  if (nonce !== undefined) agent.login = { ...login, nonce }
  agent.state = afterLogin(agent.state, { cluster: base, lease, renewable }, Date.now(), Math.random())
  say(`Logged in on ${nameOf(agent, base)}${describeLease(lease)}.`)
  await child?.giveToken(token)
}

function storeToken({ output }: Agent, token: string): void {
  if (!output) return
  const { lock, place } = output
  if (!lock.isHeld()) throw new CommandEnded('occupied', `another agent has taken the lock of ${place.file}`)
  writeTokenFile(place, token)
}

const useToken = ({ token = '', connection }: Agent, base: string, path: string): Promise<ApiResponse> =>
  sendRequest(base, path, { method: path === LOOKUP ? 'GET' : 'POST', token }, connection)

async function renew(agent: Agent, base: string, kept: KeptToken): Promise<void> {
  const answer = await useToken(agent, base, 'auth/token/renew-self')
  if (answer.status === 403) return refuseToken(agent, base, kept, answer)
  const { auth } = answer.body
  const lease = isObject(auth) ? auth['lease_duration'] : undefined
  if (answer.status >= 300 || !isObject(auth) || !isLease(lease))
    return fail(agent, `renewal on ${nameOf(agent, base)}: ${describeRefusal(answer)}`)
  const renewed = { cluster: base, lease, renewable: auth['renewable'] === true }
  agent.state = afterRenewal(agent.state, kept, renewed, Date.now(), Math.random())
  const next = agent.state.kept?.mayRenew ? '' : '. Its maximum lifetime is near, so a login follows'
  agent.say(`Renewed the token on ${nameOf(agent, base)}${describeLease(lease)}${next}.`)
}

async function verify(agent: Agent, base: string, kept: KeptToken): Promise<void> {
  const answer = await useToken(agent, base, LOOKUP)
  if (answer.status === 403) return refuseToken(agent, base, kept, answer)
  if (answer.status >= 300)
    return fail(agent, `${LOOKUP} on ${nameOf(agent, base)}: ${describeRefusal(answer)}`)
  agent.state = afterVerification(agent.state, kept, base)
  agent.say(`${nameOf(agent, base)} knows the token.`)
}

function refuseToken(agent: Agent, base: string, kept: KeptToken, answer: ApiResponse): void {
  agent.say(`${nameOf(agent, base)} refuses the token (${describeRefusal(answer)}), so a login follows.`)
  agent.state = afterRefusal(agent.state, kept, Date.now())
}

async function revokeToken(agent: Agent): Promise<void> {
  if (agent.token === undefined) return
  const { active: base } = await findActiveCluster(agent)
  if (base === undefined) throw new CommandEnded('unreachable', 'the token is not revoked: no cluster serves')
  const answer = await useToken(agent, base, 'auth/token/revoke-self')
  if (answer.status >= 300)
    throw new CommandEnded('refused', `the token is not revoked: ${describeRefusal(answer)}`)
  if (agent.output) removeTokenFile(agent.output.place, agent.token)
  agent.say('Revoked the token.')
}

const LOOKUP = 'auth/token/lookup-self'

/** Reports whether a server's lifetime is a number of seconds; 0 means without end. */
const isLease = (value: unknown): value is number => Number.isFinite(value) && Number(value) >= 0

const describeLease = (lease: number): string =>
  lease === 0 ? '; the token does not expire' : `; the token expires in ${formatDuration(lease)}`

/** Reports whether the same login would be refused again. */
const isFinal = ({ status }: ApiResponse): boolean => status === 400 || status === 403 || status === 404

/**
 * Reports whether a later try may succeed. The network may recover, and once the agent has a token, so may the
 * credentials of AWS or a full disk.
 */
const isPassing = (error: unknown, hasToken: boolean): boolean =>
  error instanceof CommandEnded
    ? error.exit === 'unreachable' || (error.exit === 'refused' && hasToken)
    : hasToken

/** Returns the message of a connection error. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof CommandEnded)) throw error
  return error.message
}
