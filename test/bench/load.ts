// A process that logs in as fast as it gets answers. The process has a number of concurrent clients, which
// use the login bodies in turn.
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'

export interface LoadOrder {
  url: string
  bodies: string[]
  concurrency: number
  seconds: number
  /** logins in a second; absent: as many as the host answers */
  perSecond?: number
  /** number of loopback addresses from which the clients call; absent: 1 */
  addresses?: number
}

export interface LoadResult {
  answered: number
  perSecond: number
  refused: number
  /** milliseconds */
  p50: number
  p99: number
}

function post(url: URL, agent: Agent, body: string, localAddress: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const { hostname: host, port, pathname: path } = url
    const call = request({ host, port, path, method: 'POST', headers, agent, localAddress }, answer => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    // the host may close an idle connection at the moment in which the request uses it
    call.on('error', error =>
      call.reusedSocket ? post(url, agent, body, localAddress).then(resolve, reject) : reject(error),
    )
    call.end(body)
  })
}

async function load(order: LoadOrder): Promise<LoadResult> {
  const { url, bodies, concurrency, seconds, perSecond, addresses = 1 } = order
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const target = new URL(url)
  const times: number[] = []
  let [next, refused] = [0, 0]
  const started = performance.now()
  const client = async () => {
    while (performance.now() - started < seconds * 1000) {
      const turn = next++
      if (perSecond) await setTimeout(Math.max(0, started + (turn * 1000) / perSecond - performance.now()))
      const body = bodies[turn % bodies.length] ?? ''
      const from = `127.0.0.${1 + (turn % addresses)}`
      const sent = performance.now()
      if ((await post(target, agent, body, from)) === 200) times.push(performance.now() - sent)
      else refused += 1
    }
  }
  await Promise.all(Array.from({ length: concurrency }, client))
  const elapsed = (performance.now() - started) / 1000
  agent.destroy()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { answered: times.length, perSecond: times.length / elapsed, refused, p50: at(0.5), p99: at(0.99) }
}

process.on('message', (order: LoadOrder) => {
  load(order).then(
    result => process.send?.(result),
    (error: Error) => process.send?.({ error: error.message }),
  )
})
process.send?.('ready')
