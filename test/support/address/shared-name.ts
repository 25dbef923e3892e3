import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { closeServer, listenOnLoopback } from '../../../infra/local/os/loopback.ts'

/** A cluster behind the shared DNS name. */
export interface Behind {
  name: string
  /** origin of its API */
  url: string
}

/** A request that came through the name. */
export interface Passed {
  /** epoch milliseconds of the answer; without an answer, of the request */
  at: number
  to: string
  /** 0: no answer */
  status: number
}

/** The access of one client: its machine's resolver, and its connections. */
export interface Door {
  url: string
  passed: readonly Passed[]
}

interface SharedNameOptions {
  members: readonly [Behind, Behind]
  preferred: string
  /** milliseconds between two checks, and for which a resolver keeps an answer */
  intervalMs: number
  ttlMs: number
}

export interface SharedName {
  /** the cluster that the name's servers answer now */
  leadsTo(): string
  /** makes a cluster count as unhealthy, whatever it answers: its check is disabled and inverted */
  disbelieve(name: string): void
  /** stops all answers of a cluster, also to checks */
  darken(name: string): void
  /** @param passesClose whether a cluster's `Connection: close` comes to the client; API Gateway keeps it to itself */
  door(passesClose: boolean): Promise<Door>
  close(): Promise<void>
}

/**
 * Chooses from a failover pair of records: the preferred one, unless only the other is healthy.
 * @param healthy by name
 */
const chosen = (
  [one, other]: readonly [string, string],
  preferred: string,
  healthy: (name: string) => boolean,
): string => {
  const second = preferred === one ? other : one
  return healthy(preferred) || !healthy(second) ? preferred : second
}

/**
 * Imitates failover records of Route 53 for clients on this machine. Both clusters are checked at their own
 * addresses. Two equal answers in a row decide, and only 200 is healthy. New connections go where the client's
 * resolver says, and existing connections stay.
 */
export async function startSharedName(options: SharedNameOptions): Promise<SharedName> {
  const { members, preferred, ttlMs } = options
  const [{ name: one }, { name: other }] = members
  const disbelieved = new Set<string>()
  const dark = new Set<string>()
  const checks = startChecks(options, dark)
  const agent = new Agent({ keepAlive: true })
  const doors: Server[] = []
  const leadsTo = (): string =>
    chosen([one, other], preferred, name => checks.healthy.has(name) && !disbelieved.has(name))

  /** Returns the resolver of one machine. It keeps an answer for as long as allowed. */
  function resolver(): () => Behind {
    let kept = { until: 0, name: '' }
    return () => {
      if (Date.now() >= kept.until) kept = { until: Date.now() + ttlMs, name: leadsTo() }
      return members.find(({ name }) => name === kept.name) ?? members[0]
    }
  }

  return {
    leadsTo,
    disbelieve: name => void disbelieved.add(name),
    darken: name => void dark.add(name),
    door: async passesClose => {
      const passed: Passed[] = []
      const server = doorOf({ resolve: resolver(), dark, agent, passesClose, passed })
      doors.push(server)
      return { url: await listenOnLoopback(server), passed }
    },
    close: async () => {
      checks.end()
      await Promise.all(doors.map(closeServer))
      agent.destroy()
    },
  }
}

/** Equal answers in turn that change the result of a check. */
const ANSWERS = 2

/** Checks both clusters again and again, at different moments. */
function startChecks(
  { members, preferred, intervalMs }: SharedNameOptions,
  dark: ReadonlySet<string>,
): { healthy: ReadonlySet<string>; end(): void } {
  const healthy = new Set([preferred])
  /** answers in turn that differ from the current result, by name */
  const turns = new Map<string, number>()
  async function check({ name, url }: Behind): Promise<void> {
    const signal = AbortSignal.timeout(intervalMs / 2)
    const asked = await fetch(`${url}/v1/sys/health`, { signal }).catch(() => undefined)
    await asked?.arrayBuffer().catch(() => undefined)
    const isServing = asked?.status === 200 && !dark.has(name)
    const count = isServing === healthy.has(name) ? 0 : (turns.get(name) ?? 0) + 1
    turns.set(name, count)
    if (count < ANSWERS) return
    if (isServing) healthy.add(name)
    else healthy.delete(name)
  }
  const timers = members.map((one, index) => {
    void check(one)
    const later = (index * intervalMs) / 2
    return setTimeout(() => timers.push(setInterval(() => void check(one), intervalMs)), later)
  })
  return {
    healthy,
    end: () => {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

interface DoorOptions {
  resolve: () => Behind
  dark: ReadonlySet<string>
  agent: Agent
  passesClose: boolean
  passed: Passed[]
}

/** Makes a server that passes each connection to the cluster that the name had when it was opened. */
function doorOf({ resolve, dark, agent, passesClose, passed }: DoorOptions): Server {
  const led = new WeakMap<Socket, Behind>()
  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { name, url } = led.get(incoming.socket) ?? resolve()
    const answer = dark.has(name) ? undefined : await forwarded(incoming, url, agent)
    const answered = answer !== undefined && !dark.has(name)
    passed.push({ at: Date.now(), to: name, status: answered ? answer.status : 0 })
    if (!answered) return
    const { connection, ...headers } = answer.headers
    const closes = passesClose && connection === 'close'
    response.writeHead(answer.status, { ...headers, ...(closes && { connection }) })
    response.end(answer.body)
  }
  const server = createServer((incoming, response) => {
    pass(incoming, response).catch(() => response.destroy())
  })
  server.on('connection', socket => led.set(socket, resolve()))
  return Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

async function forwarded(incoming: IncomingMessage, url: string, agent: Agent): Promise<Answer> {
  const sent = await bytesOf(incoming)
  const { method, headers } = incoming
  return new Promise((resolve, reject) => {
    const { connection: _, ...rest } = headers
    const outgoing = request(`${url}${incoming.url}`, { method, headers: rest, agent }, answer => {
      bytesOf(answer).then(
        body => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body }),
        reject,
      )
    })
    outgoing.on('error', reject)
    outgoing.end(sent)
  })
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
