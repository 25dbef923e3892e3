import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent, request } from 'node:https'
import type { IssuerFetchFault, IssuerKeyFetcher } from '../../model/issuer-memory.ts'
import type { CallMeter, Clock } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import { faultCounterName } from '../../watching/logins.ts'
import { awaitResponse, limitConnectTime, readBodyUpTo } from './connections.ts'

interface Dependencies {
  clock: Clock
  meter: CallMeter
  /** `redirect` is the endpoint to connect to instead of the hosts of issuers; empty: no redirect */
  redirect: string
}

const PATH = '/.well-known/jwks.json'
const CONNECT_MS = 3000
const FETCH_MS = 5000
const LARGEST_KEY_SET = 64 * 1024

/** Agents of their own, because the agents of Node may be set to use a proxy. Fetches are rare, so nothing is kept. */
const agents = { 'http:': new PlainAgent(), 'https:': new Agent() }

/**
 * Fetches key sets from the hosts of issuers: without redirects, cookies or proxies, with a certificate for exactly
 * that host. The host follows from the UUID of the issuer, so no address comes from outside.
 * @see docs/spec/login-jwt.md#keys
 */
export function createIssuerKeyFetcher({ clock, meter, redirect }: Dependencies): IssuerKeyFetcher {
  const once = (host: string, deadline: number): Promise<Result<string, IssuerFetchFault>> => {
    const url = new URL(redirect || `https://${host}`)
    const isSecure = url.protocol === 'https:'
    return new Promise((resolve, reject) => {
      const call = (isSecure ? request : plainRequest)(
        defined({
          host: url.hostname,
          port: url.port || (isSecure ? 443 : 80),
          servername: isSecure ? url.hostname : undefined,
          path: PATH,
          headers: {
            Host: host,
            Accept: 'application/json',
            // An imitated AWS serves all hosts at one address. The header names the intended host.
            ...(redirect ? { Forwarded: `host=${host}` } : {}),
          },
          agent: isSecure ? agents['https:'] : agents['http:'],
        }),
      )
      const late = () => {
        resolve(failed('timeout'))
        call.destroy()
      }
      const timer = setTimeout(late, Math.max(1, Math.min(FETCH_MS, deadline - clock.now())))
      limitConnectTime(call, CONNECT_MS, late)
      call.on('close', () => clearTimeout(timer))
      awaitResponse(call).then(readAnswer).then(resolve, reject)
      call.end()
    })
  }
  return {
    fetch: async (host, deadline) => {
      meter.count('oidc')
      const answer = await once(host, deadline).catch((error: NodeJS.ErrnoException) =>
        // strangers who invent issuers must not cause faults, because faults pause the fetches of all issuers
        failed(error.code === 'ENOTFOUND' ? ('unknown' as const) : ('failed' as const)),
      )
      if (!answer.ok && answer.fault !== 'unknown')
        meter.count(faultCounterName('oidc', answer.fault === 'throttled' ? 'throttled' : 'failed'))
      return answer
    },
  }
}

async function readAnswer(response: IncomingMessage): Promise<Result<string, IssuerFetchFault>> {
  const status = response.statusCode ?? 0
  const body = await readBodyUpTo(LARGEST_KEY_SET, response)
  if (status === 429) return failed('throttled')
  if (status >= 400 && status < 500) return failed('unknown')
  return status === 200 && body ? ok(body.toString('utf8')) : failed('failed')
}
