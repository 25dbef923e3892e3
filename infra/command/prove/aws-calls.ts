import { setTimeout } from 'node:timers/promises'
import { parseJsonObject } from '../../../shared/values/json.ts'
import type { CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import type { WorkloadCredentials } from '../login/signed-login.ts'
import { escapeToOneLine } from '../output.ts'
import { type AwsRequest, signAwsRequest } from './signed-request.ts'

/** A refusal of an AWS service. `code` is the service's own. */
export class AwsCallError extends Error {
  readonly code: string
  constructor(service: string, code: string, message: string) {
    super(`${service}: ${code}: ${escapeToOneLine(message).slice(0, 500)}`)
    this.code = code
  }
}

/** An answer of an AWS service with a status below 300. */
export interface AwsCallAnswer {
  headers: Headers
  text: string
}

export interface AwsCalls {
  /** returns the endpoint of a service */
  endpointOf(service: string): string
  /** sends a request without a body format. @throws AwsCallError */
  send(
    service: string,
    request: Pick<AwsRequest, 'method'> & {
      path: string
      headers?: Record<string, string>
      body?: string | Uint8Array
    },
  ): Promise<AwsCallAnswer>
  /** calls an action of a service with forms and XML. @returns the XML */
  query(
    service: string,
    version: string,
    action: string,
    parameters?: Record<string, string>,
  ): Promise<string>
  /** calls an action of a service with JSON */
  json(service: string, target: string, body: object): Promise<Record<string, unknown>>
}

export interface SignedCallSettings {
  region: string
  /** endpoint that replaces the endpoints of all services; undefined: AWS's own */
  endpoint: string | undefined
  credentials(): Promise<WorkloadCredentials>
}

const TIMEOUT_MS = 60_000
const ATTEMPTS = 4
const PASSING =
  /^(Throttling|ThrottlingException|RequestLimitExceeded|TooManyRequestsException|SlowDown|ServiceUnavailable|InternalError|InternalFailure|ResourceConflictException)$/

/** Returns AWS's own endpoint of a service. */
export const awsEndpoint = (service: string, region: string): string =>
  `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`

/**
 * Returns the endpoint that replaces the endpoints of AWS, as the SDKs do.
 * @throws CommandEnded `usage` if it is not encrypted, because answers contain secrets
 */
export function readAwsEndpoint(environment: CommandEnvironment): string | undefined {
  const given = environment['AWS_ENDPOINT_URL'] || undefined
  if (given === undefined) return undefined
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\])$/.test(url?.hostname ?? '')
  if (!url || (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)))
    throw new CommandEnded('usage', 'AWS_ENDPOINT_URL must be an https URL, or an http URL of this machine')
  return url.origin
}

/** Reads the code and the message of a refusal, in XML or JSON. */
function readRefusal(answer: Response, text: string): { code: string; message: string } {
  const json = parseJsonObject(text)
  const code = json
    ? String(json['__type'] ?? answer.headers.get('x-amzn-errortype') ?? answer.status)
    : (readXmlTexts(text, 'Code')[0] ?? String(answer.status))
  const message = json ? String(json['message'] ?? json['Message'] ?? '') : readXmlTexts(text, 'Message')[0]
  return { code: code.split('#').at(-1)?.split(':')[0] ?? code, message: message ?? '' }
}

/** Creates the signed calls of AWS services in a region. */
export function createAwsCalls({ region, endpoint, credentials }: SignedCallSettings): AwsCalls {
  const endpointOf = (service: string): string => endpoint ?? awsEndpoint(service, region)
  const attempt = async (
    service: string,
    { method, path, headers = {}, body = '' }: Parameters<AwsCalls['send']>[1],
  ): Promise<AwsCallAnswer> => {
    const url = new URL(endpointOf(service) + path)
    const scope = { service, region, now: Date.now() }
    const { host: _, ...signed } = signAwsRequest({ method, url, headers, body }, await credentials(), scope)
    const answer = await fetch(url, {
      method,
      headers: signed,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(method === 'GET' ? {} : { body: body as string }),
    })
    const text = await answer.text()
    if (answer.ok) return { headers: answer.headers, text }
    const { code, message } = readRefusal(answer, text)
    throw new AwsCallError(service, code, message)
  }
  const send: AwsCalls['send'] = async (service, request) => {
    for (let tries = 1; ; tries++)
      try {
        return await attempt(service, request)
      } catch (error) {
        const passes =
          error instanceof AwsCallError ? PASSING.test(error.code) : !(error instanceof CommandEnded)
        if (!passes || tries >= ATTEMPTS) throw error
        await setTimeout(1000 * 2 ** tries)
      }
  }
  return {
    endpointOf,
    send,
    query: async (service, version, action, parameters = {}) => {
      const body = new URLSearchParams({ Action: action, Version: version, ...parameters }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
      return (await send(service, { method: 'POST', path: '/', headers, body })).text
    },
    json: async (service, target, body) => {
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target }
      const { text } = await send(service, { method: 'POST', path: '/', headers, body: JSON.stringify(body) })
      return parseJsonObject(text) ?? {}
    },
  }
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

const decodeXml = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) =>
    name ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number.parseInt(hex ?? decimal, hex ? 16 : 10)),
  )

/** Returns the texts of all elements with a name, in their order. */
export const readXmlTexts = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) => decodeXml(text))

/** Returns the elements with a name that contain no element of the same name. */
export const readXmlElements = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>((?:(?!<${name}>)[\\s\\S])*?)</${name}>`, 'g'))].map(
    ([, inner = '']) => inner,
  )
