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
  /** origin of the cluster's API */
  url: string
}

/** A request that a client sent through the shared DNS name. */
export interface Passed {
  /** epoch milliseconds of the answer; without an answer, of the request */
  at: number
  to: string
  /** 0: no answer */
  status: number
}

/** The access of one client machine: its resolver and its connections. */
export interface Door {
  url: string
  passed: readonly Passed[]
}

interface SharedNameOptions {
  members: readonly [Behind, Behind]
  preferred: string
  /** milliseconds between two health checks, and for which a resolver caches an answer */
  intervalMs: number
  ttlMs: number
}

export interface SharedName {
  /** the cluster that the name's DNS servers return now */
  leadsTo(): string
  /**
   * makes a cluster count as unhealthy regardless of its answers: disables and inverts the cluster's health
   * check
   */
  disbelieve(name: string): void
  /** stops all answers of a cluster, also to health checks */
  darken(name: string): void
  /**
   * @param passesClose whether the client receives a cluster's `Connection: close`; API Gateway does not
   * forward that header
   * @see docs/look-up/unverified.md#kept-connections
   */
  door(passesClose: boolean): Promise<Door>
  close(): Promise<void>
}

/**
 * Chooses from a failover pair of DNS records: the preferred record, unless only the other cluster is
 * healthy.
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
 * Imitates failover records of Route 53 for clients on this machine. Health checks call both clusters at
 * their own addresses. A health check changes its result after two equal answers in a row, and only status
 * 200 counts as healthy. New connections go to the cluster that the client's resolver returns, and existing
 * connections stay.
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

  /**
   * Returns the resolver of one machine. The resolver caches an answer for the time to live of the DNS
   * record.
   */
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

/** Number of equal answers in a row that change the result of a health check. */
const ANSWERS = 2

/** Checks the health of both clusters again and again, at different moments. */
function startChecks(
  { members, preferred, intervalMs }: SharedNameOptions,
  dark: ReadonlySet<string>,
): { healthy: ReadonlySet<string>; end(): void } {
  const healthy = new Set([preferred])
  /** by name: answers in a row that differ from the current result of the health check */
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

/**
 * Makes a server that passes each connection to the cluster that the DNS name returned when the client opened
 * the connection.
 */
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
