import type { Operation } from '../api/call.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { parseBoolean } from '../api/fields.ts'
import { MAX_TOKEN_LENGTH } from '../model/token.ts'
import { MAX_WRAPPING_SECONDS } from '../tokens/wrapping.ts'
import { parseDuration } from '../values/duration.ts'
import { isObject, type JsonLimits, readJson } from '../values/json.ts'
import { Secret } from '../values/secret.ts'
import type { HttpRequest } from './request.ts'

const verbs: ReadonlyMap<string, Operation> = new Map([
  ['GET', 'read'],
  ['HEAD', 'read'],
  ['POST', 'write'],
  ['PUT', 'write'],
  ['LIST', 'list'],
  ['DELETE', 'delete'],
])

/**
 * Determines the operation of a request; undefined for unsupported verbs.
 * @throws ApiError `unclear_list_flag`, `unsupported_media_type`
 * @see docs/spec/transport.md#verbs
 */
export function operationOf(request: HttpRequest): Operation | undefined {
  if (
    request.method === 'PATCH' &&
    !/^application\/merge-patch\+json\b/i.test(request.headers['content-type'] ?? '')
  ) {
    throw new ApiError('unsupported_media_type', 'PATCH needs the content type application/merge-patch+json')
  }
  const operation = verbs.get(request.method)
  const flag = request.query.find(([name]) => name === 'list')?.[1]
  if (operation !== 'read' || flag === undefined) return operation
  const list = parseBoolean(flag)
  if (list === undefined)
    throw new ApiError(
      'unclear_list_flag',
      `list must be true or false, not ${JSON.stringify(flag.slice(0, 20))}: a request with "?list=true" lists the path, and a request without list reads the path`,
    )
  return list ? 'list' : 'read'
}

/** Finds the bearer token in the Authorization header, whose values front ends join with commas. */
const BEARER = /(?:^|,[ \t]*)Bearer ([^,]+)/

/**
 * Maximum bytes of path, query and headers: the 10 KiB of an HTTP API plus what front ends add. Some front ends
 * allow larger requests.
 */
const LARGEST_HEAD = 12 * 1024

/** @throws ApiError if path, query and headers are too large */
export function checkRequestHead({ path, query, headers }: HttpRequest): void {
  const all = [path, ...query.flat(), ...Object.entries(headers).flat()].join('')
  if (Buffer.byteLength(all) > LARGEST_HEAD)
    throw new ApiError('head_too_large', 'the request head is too large')
}

/** Returns the caller's token from the first header that has a token. @throws ApiError if the token is too long */
export function readTokenHeader({ headers }: HttpRequest): Secret | undefined {
  const bearer = BEARER.exec(headers['authorization'] ?? '')?.[1]
  const token = headers['x-vault-token'] || headers['x-service-token'] || bearer
  if ((token?.length ?? 0) > MAX_TOKEN_LENGTH) throw new ApiError('head_too_large', 'the token is too long')
  return token ? new Secret(token) : undefined
}

/**
 * Accepts only the root namespace, given as nothing, the empty text or `root`.
 * @throws ApiError for any other namespace
 * @see docs/spec/transport.md#namespaces
 */
export function checkNamespace({ headers }: HttpRequest, path: string): void {
  const given = [headers['x-vault-namespace'], headers['x-service-namespace']]
    .filter(value => value !== undefined && value !== '' && value !== '/')
    .map(value => (value ?? '').replace(/^\/|\/$/g, ''))
  if (given.some(isMalformed)) throw invalidRequestError('the namespace is malformed')
  const prefixed = /^(?!auth\/|sys\/|identity\/)[^/]+\/(?:.+\/)?(?:auth|sys|identity)\//.test(path)
  if (prefixed || given.some(namespace => namespace !== 'root'))
    throw new ApiError(
      'unsupported_path',
      'the only namespace is root; leave out the header X-Vault-Namespace, or the part of the path before auth/ or sys/',
    )
}

const isMalformed = (namespace: string): boolean =>
  namespace.split('/').some(part => part === '' || part === '.' || part === '..')

/** Returns the requested wrapping TTL in seconds; undefined: no wrapping. @throws ApiError if the TTL is invalid */
export function wrapTtlOf({ headers }: HttpRequest): number | undefined {
  const given = headers['x-vault-wrap-ttl'] ?? headers['x-service-wrap-ttl']
  const seconds = given === undefined ? 0 : parseDuration(given)
  if (seconds === undefined) throw invalidRequestError('X-Vault-Wrap-TTL is not a duration')
  if (seconds > MAX_WRAPPING_SECONDS)
    throw invalidRequestError('X-Vault-Wrap-TTL must not be longer than 768h')
  return seconds === 0 ? undefined : seconds
}

const LARGEST_BODY = 1024 * 1024
const LIMITS: JsonLimits = { depth: 64, members: 10_000, values: 100_000 }

/**
 * Parses the parameters of a request: from the body of a write, else from the query.
 * @throws ApiError whose message never quotes the body
 * @see docs/spec/transport.md#bodies
 */
export function readRequestParameters(
  request: HttpRequest,
  operation: Operation,
  endpoint: Endpoint,
): Record<string, unknown> {
  if (operation !== 'write') return fromPairs(request.query.filter(([name]) => name !== 'list'))
  if (request.bodyLength > (endpoint.largestBody ?? LARGEST_BODY))
    throw new ApiError('too_large', 'the body is too large')
  // some editors and libraries write a byte order mark at the start
  const body = request.body.replace(/^\ufeff/, '')
  if (body.trim() === '') return {}
  checkEncoding(request)
  if (isForm(request.headers, body)) return fromPairs([...new URLSearchParams(body)])
  const read = readJson(body, { ...LIMITS, uniqueKeys: endpoint.uniqueKeys ?? false })
  if (!read.ok) throw invalidRequestError(faults[read.fault])
  // command-line clients send null for an empty body
  if (read.value === null) return {}
  if (!isObject(read.value)) throw invalidRequestError('the body must be a JSON object')
  return read.value
}

const faults = {
  malformed: 'the body is not valid JSON',
  'too complex': 'the body is nested too deeply or holds too many values',
  'repeated key': 'the body names a key twice',
  'inexact number': 'the body has a number that cannot be represented exactly',
} as const

// `curl -d '{…}'` sends JSON with the content type of a form
const isForm = (headers: HttpRequest['headers'], body: string): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '') && !/^\s*[{[]/.test(body)

/** @throws ApiError `unsupported_media_type` for a compressed body */
function checkEncoding({ headers }: HttpRequest): void {
  const encoding = headers['content-encoding']?.trim() ?? ''
  if (encoding === '' || /^identity$/i.test(encoding)) return
  throw new ApiError(
    'unsupported_media_type',
    `Content-Encoding ${JSON.stringify(encoding.slice(0, 20))} is not supported: send the body uncompressed, without the header`,
  )
}

/** Converts pairs to an object. A repeated key gets an array of all its values. */
function fromPairs(pairs: readonly (readonly [string, string])[]): Record<string, unknown> {
  if (pairs.length > LIMITS.members) throw invalidRequestError('there are too many parameters')
  const object: Record<string, unknown> = Object.create(null)
  for (const [name, values] of Map.groupBy(pairs, ([key]) => key)) {
    const texts = values.map(([, value]) => value)
    object[name] = texts.length > 1 ? texts : texts[0]
  }
  return object
}

/**
 * Returns why a path is not canonical; undefined if the path is canonical. This check must run before routing and
 * policy checks, so that the executed path is the authorised path (CVE-2026-3605).
 *
 * @param path decoded once
 * @see docs/spec/transport.md#paths
 */
export function findPathFault(path: string): string | undefined {
  const checked = ROLE_TAG.exec(path)?.[1] ?? path
  const tag = path.slice(checked.length).replace(/[\t\n\r]/g, '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\\\u0000-\u001f\u007f]/.test(checked + tag)) return 'the path holds an illegal character'
  if (checked.includes('//')) return 'the path holds an empty segment'
  return path.split('/').some(part => part === '.' || part === '..')
    ? 'the path holds a dot segment'
    : undefined
}

// Base64 of a role tag may contain "//", and tabs and line breaks if a tool wrapped it. Everything after the list's name is one parameter.
const ROLE_TAG = /^(\/(?:v1\/)?auth\/[^/]+\/roletag-(?:denylist|blacklist)\/)/

/** Strips `/v1` and the leading slash from a path. Some front ends have already stripped the version. */
export const stripApiVersion = (path: string): string => path.replace(/^\/(?:v1\/)?/, '')
