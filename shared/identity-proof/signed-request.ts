import { invalidRequestError } from '../api/errors.ts'
import { readBase64 } from '../values/base64.ts'
import { isObject, type JsonLimits, readJson } from '../values/json.ts'
import { canonicalHeaderName } from '../values/names.ts'

/** A caller-identity request from a login, parsed and bounded but not verified. */
export interface SignedRequest {
  method: 'GET' | 'POST'
  /** lower case, with the port if the URL has one */
  host: string
  /** the signed target: `/` with the query */
  target: string
  /** decoded query, in order; empty for POST */
  query: readonly (readonly [name: string, value: string])[]
  body: string
  /** header names in the form `X-Amz-Date`, with their values in order */
  headers: ReadonlyMap<string, readonly string[]>
  /** lower-case names of the signed headers */
  signedHeaders: readonly string[]
  /** region and service of the credential scope */
  scope: { region: string; service: string }
}

const AMZ_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/

/**
 * Returns the seconds since the request was signed; negative if the signing time is in the future, undefined if it is unreadable.
 * @param now epoch milliseconds
 */
export function requestAgeSeconds({ headers, query }: Pick<SignedRequest, 'headers' | 'query'>, now: number) {
  const named = query.find(([name]) => name === 'X-Amz-Date')?.[1] ?? headers.get('X-Amz-Date')?.[0] ?? ''
  const at = Date.parse(named.replace(AMZ_DATE, '$1-$2-$3T$4:$5:$6Z'))
  return AMZ_DATE.test(named) && Number.isFinite(at) ? Math.round((now - at) / 1000) : undefined
}

/** The request parameters of a login, as sent. */
export interface SignedRequestInput {
  method: string
  url: string
  body: string
  headers: unknown
}

/** The two allowed request bodies, byte for byte, so that no parser can read them differently. */
const BODIES = ['Action=GetCallerIdentity&Version=2011-06-15', 'Version=2011-06-15&Action=GetCallerIdentity']

/**
 * Parses the four `iam_*` parameters. Rejects everything that STS might interpret differently than this parser.
 *
 * @throws ApiError `invalid_request`
 * @see docs/spec/login-iam.md#request
 */
export function readSignedRequest(input: SignedRequestInput): SignedRequest {
  const { method } = input
  if (method !== 'GET' && method !== 'POST')
    throw invalidRequestError('iam_http_request_method must be GET or POST')
  const { host, target, query } = readUrl(input.url)
  const { headers, illegal } = readHeaders(input.headers)
  if (method === 'POST') {
    if (query.length > 0)
      throw invalidRequestError('iam_request_url must have no query when the method is POST')
    const body = readBody(input.body)
    refuseIllegal(illegal, [])
    const signature = readAuthorization(headers)
    refuseIllegal(illegal, signature.signedHeaders)
    return { method, host, target, query, body, headers, ...signature }
  }
  if (input.body !== '') throw invalidRequestError('iam_request_body must be empty when the method is GET')
  // With both signatures, STS might verify one of them while this parser reads the other.
  if (headers.has('Authorization'))
    throw invalidRequestError('a presigned request must not carry an Authorization header')
  const signature = readPresigned(query)
  refuseIllegal(illegal, signature.signedHeaders)
  return { method, host, target, query, body: '', headers, ...signature }
}

const LONGEST_URL = 8192
const URL_FORM =
  /^https:\/\/([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?)\/?(?:\?([\x21-\x22\x24-\x5b\x5d-\x7e]*))?$/

function readUrl(encoded: string): Pick<SignedRequest, 'host' | 'target' | 'query'> {
  const text = decodeText('iam_request_url', encoded)
  const match = text.length > LONGEST_URL ? null : URL_FORM.exec(text)
  if (!match) throw invalidRequestError('iam_request_url must be an https URL of STS with the path "/"')
  const [, host = '', search] = match
  return {
    host: host.toLowerCase().replace(/:443$/, ''),
    target: search === undefined ? '/' : `/?${search}`,
    query: search ? search.split('&').map(readParameter) : [],
  }
}

/** A parameter: a plain name, and a value in which all characters but these are percent-encoded. */
const PARAMETER = /^([A-Za-z0-9-]+)=((?:[A-Za-z0-9._~/-]|%[0-9A-Fa-f]{2})*)$/
/** Visible ASCII without `%` and `&`, which a second decoding would change. */
const PARAMETER_VALUE = /^[\x20-\x24\x27-\x7e]*$/

/** Parses a query parameter. Allows one spelling only: no second separator, no plus sign for a space, no encoded names. */
function readParameter(pair: string): [string, string] {
  const [, name, encoded = ''] = PARAMETER.exec(pair) ?? []
  const value = decodePercent(encoded)
  if (name === undefined || value === undefined || !PARAMETER_VALUE.test(value))
    throw invalidRequestError('iam_request_url has a malformed query')
  return [name, value]
}

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function readBody(encoded: string): string {
  const text = decodeText('iam_request_body', encoded)
  if (!BODIES.includes(text)) {
    throw invalidRequestError('iam_request_body must be exactly Action=GetCallerIdentity&Version=2011-06-15')
  }
  return text
}

function decodeText(field: string, encoded: string): string {
  if (encoded === '') throw invalidRequestError(`${field} is required`)
  const bytes = readBase64(encoded)
  if (!bytes) throw invalidRequestError(`${field} must be base64`)
  return bytes.toString('latin1')
}

const LIMITS: JsonLimits = { depth: 4, members: 100, values: 200, uniqueKeys: true }
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const VALUE = /^[\t\x20-\x7e]*$/
const MOST_VALUES = 100
const LONGEST_HEADERS = 16_384

interface ReadHeaders {
  headers: ReadonlyMap<string, readonly string[]>
  /** lower-case names of the headers that had an illegal value; the value is dropped */
  illegal: ReadonlySet<string>
}

const illegalHeader = () =>
  invalidRequestError('iam_request_headers contains an illegal header name or value')

/** Reads the headers of the request. @see docs/spec/login-iam.md#headers */
function readHeaders(given: unknown): ReadHeaders {
  const headers = new Map<string, string[]>()
  const illegal = new Set<string>()
  let size = 0
  let values = 0
  for (const [name, value] of headerPairs(given)) {
    const canonical = canonicalHeaderName(name)
    size += name.length + value.length
    values += 1
    if (!TOKEN.test(name)) throw illegalHeader()
    if (size > LONGEST_HEADERS || values > MOST_VALUES)
      throw invalidRequestError('iam_request_headers is too large')
    if (VALUE.test(value)) headers.set(canonical, [...(headers.get(canonical) ?? []), value.trim()])
    else illegal.add(name.toLowerCase())
  }
  if (values === 0) throw invalidRequestError('iam_request_headers is required')
  return { headers, illegal }
}

/** Headers that are forwarded to STS even if they are not signed. */
const SENT = /^(authorization|content-type|x-amz-.*)$/

/** Rejects an illegal value in a header that is signed or forwarded. Other headers have no effect on the login. */
function refuseIllegal(illegal: ReadonlySet<string>, signedHeaders: readonly string[]): void {
  for (const name of illegal) if (SENT.test(name) || signedHeaders.includes(name)) throw illegalHeader()
}

function headerPairs(given: unknown): (readonly [string, string])[] {
  if (Array.isArray(given)) return given.map(readLine)
  const object = typeof given === 'string' ? decodeHeaders(given) : given
  if (!isObject(object))
    throw invalidRequestError('iam_request_headers must be a JSON object, or base64 of one')
  return Object.entries(object).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(one => [name, scalar(one)] as const),
  )
}

function readLine(line: unknown): [string, string] {
  const colon = typeof line === 'string' ? line.indexOf(':') : -1
  if (typeof line !== 'string' || colon <= 0)
    throw invalidRequestError('iam_request_headers: each line must be "name:value"')
  return [line.slice(0, colon), line.slice(colon + 1)]
}

function decodeHeaders(text: string): unknown {
  for (const candidate of [readBase64(text)?.toString('utf8'), text]) {
    const read = candidate === undefined ? undefined : readJson(candidate, LIMITS)
    if (read?.ok) return read.value
  }
  return undefined
}

function scalar(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw invalidRequestError('iam_request_headers: values must be strings or numbers')
}

type Signature = Pick<SignedRequest, 'signedHeaders' | 'scope'>

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([\w/+=-]+), *SignedHeaders=([a-z0-9;!#$%&'*+.^_`|~-]+), *Signature=[0-9a-f]{64}$/
const SIGNED_HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]+$/

/** Reads the one signature, which may be split over several values of the header. */
function readAuthorization(headers: ReadonlyMap<string, readonly string[]>): Signature {
  const values = headers.get('Authorization')
  if (!values) throw invalidRequestError('iam_request_headers contains no Authorization header')
  const match = AUTHORIZATION.exec(values.join(', '))
  const scope = readScope(match?.[1])
  const signedHeaders = readSignedHeaders(match?.[2])
  if (!scope || !signedHeaders)
    throw invalidRequestError('iam_request_headers: Authorization is not an AWS signature, version 4')
  checkSessionToken(match?.[1], headers.has('X-Amz-Security-Token'), 'iam_request_headers')
  return { signedHeaders, scope }
}

/**
 * Reads the names of the signed headers. The names of the signed headers must be unique and include `host`, as
 * signature version 4 requires.
 */
function readSignedHeaders(list: string | undefined): string[] | undefined {
  const names = (list ?? '').split(';')
  const right = names.every(name => SIGNED_HEADER.test(name)) && names.includes('host')
  return right && new Set(names).size === names.length ? names : undefined
}

/** Required query parameters of a presigned URL. */
const REQUIRED = [
  'Action',
  'X-Amz-Algorithm',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-SignedHeaders',
  'X-Amz-Signature',
]

/** Query parameters that STS interprets. Presigners also move other headers into the query, in any case. */
const KNOWN = [...REQUIRED, 'Version', 'X-Amz-Expires', 'X-Amz-Security-Token']

/**
 * Reads the signature of a presigned URL. Rejects names that differ only in case, because STS might treat them as one parameter
 * (CVE-2022-2385).
 */
function readPresigned(query: SignedRequest['query']): Signature {
  const names = query.map(([name]) => name.toLowerCase())
  if (new Set(names).size !== names.length)
    throw invalidRequestError('iam_request_url names a parameter twice')
  const misspelled = KNOWN.some(
    known => names.includes(known.toLowerCase()) && !query.some(([name]) => name === known),
  )
  if (misspelled) throw invalidRequestError('iam_request_url has a parameter name in the wrong case')
  const values = new Map(query)
  const missing = REQUIRED.find(name => !values.has(name))
  if (missing) throw invalidRequestError(`iam_request_url holds no ${missing}`)
  if (values.get('Action') !== 'GetCallerIdentity')
    throw invalidRequestError('iam_request_url must ask for GetCallerIdentity')
  if ((values.get('Version') ?? '2011-06-15') !== '2011-06-15')
    throw invalidRequestError('iam_request_url has a wrong Version')
  const scope = readScope(values.get('X-Amz-Credential'))
  const signedHeaders = readSignedHeaders(values.get('X-Amz-SignedHeaders'))
  const right = values.get('X-Amz-Algorithm') === 'AWS4-HMAC-SHA256'
  if (!scope || !signedHeaders || !right)
    throw invalidRequestError('iam_request_url is not presigned with an AWS signature, version 4')
  checkSessionToken(values.get('X-Amz-Credential'), values.has('X-Amz-Security-Token'), 'iam_request_url')
  return { signedHeaders, scope }
}

/** Rejects a temporary key without a session token, because STS rejects it too. */
function checkSessionToken(credential: string | undefined, hasToken: boolean, field: string): void {
  if (credential?.startsWith('ASIA') && !hasToken)
    throw invalidRequestError(
      `${field}: the request is signed with a temporary key, but has no X-Amz-Security-Token; ` +
        'sign the request with the session token (AWS_SESSION_TOKEN) too',
    )
}

/** Reads the scope `AKID/date/region/service/aws4_request`. */
function readScope(credential: string | undefined): SignedRequest['scope'] | undefined {
  const parts = (credential ?? '').split('/')
  const [, date = '', region = '', service = '', end] = parts
  const well = parts.length === 5 && /^\d{8}$/.test(date) && end === 'aws4_request'
  return well ? { region, service } : undefined
}
