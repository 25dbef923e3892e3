import { createRefusal, type Refusal } from '../api/errors.ts'
import type { StsRequest } from '../ports.ts'
import { canonicalHeaderName } from '../values/names.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { secretsEqual } from '../values/secret.ts'
import type { SignedRequest } from './signed-request.ts'
import { chooseStsEndpoint, type StsEndpointRules } from './sts-endpoint.ts'

/** The settings that decide whether and where a caller's request is sent. */
export interface StsRequestRules extends StsEndpointRules {
  /** required server ID; empty: none is required */
  serverId: string
  /** name of the server ID header in error texts, as clients of the mount know it */
  serverIdHeader: string
  allowedHeaders: readonly string[]
  maxRetries: number
}

/** The two names of the header that binds a request to one server, by family of mount types. */
export const serverIdHeaders = {
  cloud: 'X-Service-Cloud-IAM-Server-ID',
  aws: 'X-Vault-AWS-IAM-Server-ID',
} as const
const SERVER_ID = Object.values(serverIdHeaders)

/**
 * AWS headers and query keys that a caller-identity request may need.
 * @see docs/spec/login-iam.md#allowed-headers
 */
const AMZ = [
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Security-Token',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
  'X-Amz-User-Agent',
].map(name => name.toLowerCase())

/** Allowed query keys. Presigners always send `x-amz-expires`, which STS ignores. */
const QUERY = ['action', 'version', 'x-amz-expires', ...AMZ]

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
  'trailer',
  'expect',
]
const isHopByHop = (name: string): boolean => HOP_BY_HOP.includes(name) || name.startsWith('proxy-')

/**
 * Rebuilds the request for STS from its parts. The configuration chooses the target host. Only signed or needed headers are sent,
 * and nothing else from the caller. Returns a refusal if a part must not be sent.
 *
 * @see docs/spec/login-iam.md#sent-headers
 */
export function rebuildStsRequest(
  request: SignedRequest,
  rules: StsRequestRules,
): Result<StsRequest, Refusal> {
  const endpoint = chooseStsEndpoint(request, rules)
  if (!endpoint.ok) return endpoint
  const fault = serverIdFault(request, rules) ?? nameFault(request, rules) ?? headerFault(request)
  if (fault) return failed(fault)
  return ok({
    method: request.method,
    endpoint: endpoint.value,
    host: request.host,
    target: request.target,
    headers: forwarded(request, rules),
    body: request.body,
    maxRetries: rules.maxRetries,
  })
}

function serverIdFault(
  request: SignedRequest,
  { serverId, serverIdHeader }: Pick<StsRequestRules, 'serverId' | 'serverIdHeader'>,
): Refusal | undefined {
  if (serverId === '') return undefined
  const valuesOf = (name: string) => request.headers.get(canonicalHeaderName(name))
  const sent = SERVER_ID.filter(valuesOf)
  const name = sent[0] ?? serverIdHeader
  const header = `the header ${name}`
  const next = `sign the request with ${name} set to the mount’s iam_server_id_header_value`
  if (sent.length === 0) return createRefusal('server-id-missing', `${header} is missing: ${next}`)
  const right = sent.every(name => secretsEqual((valuesOf(name) ?? []).join(','), serverId))
  if (!right)
    return createRefusal('server-id-mismatch', `${header} does not have the expected value: ${next}`)
  return sent.some(name => request.signedHeaders.includes(name.toLowerCase()))
    ? undefined
    : createRefusal('server-id-unsigned', `${header} is not among the signed headers: ${next}`)
}

function nameFault(
  { headers, query }: SignedRequest,
  { allowedHeaders }: StsRequestRules,
): Refusal | undefined {
  const extra = allowedHeaders.map(name => name.toLowerCase())
  const header = [...headers.keys()].find(name => {
    const lower = name.toLowerCase()
    return lower.startsWith('x-amz-') && !AMZ.includes(lower) && !extra.includes(lower)
  })
  if (header) return createRefusal('header-not-allowed', `header "${header}" is not allowed in the request`)
  const key = query.find(
    ([name]) => !QUERY.includes(name.toLowerCase()) && !extra.includes(name.toLowerCase()),
  )?.[0]
  return key === undefined
    ? undefined
    : createRefusal('query-not-allowed', 'a query parameter of iam_request_url is not allowed')
}

/** A media range that includes XML; apart from the widest range, XML only. */
const XML = /^ *(?:(?:application|text)\/xml|\*\/\*) *(?:;.*)?$/

function headerFault({ headers, host, signedHeaders, body }: SignedRequest): Refusal | undefined {
  const refused = (name: string) =>
    createRefusal('header-refused', `header "${name}" cannot be sent to STS as it was signed`)
  if (headers.has('Host') && headers.get('Host')?.join(',').toLowerCase().replace(/:443$/, '') !== host)
    return refused('Host')
  const signed = (name: string) =>
    signedHeaders.includes(name.toLowerCase()) ? headers.get(name)?.join(',') : undefined
  const length = signed('Content-Length')
  if (length !== undefined && length.trim() !== String(Buffer.byteLength(body)))
    return refused('Content-Length')
  const accept = signed('Accept')
  if (accept !== undefined && !accept.split(',').some(range => XML.test(range))) return refused('Accept')
  const hop = signedHeaders.find(isHopByHop)
  return hop === undefined ? undefined : refused(hop)
}

const OURS = ['host', 'content-length']
const OURS_UNLESS_SIGNED = ['accept', 'accept-encoding']
const NEEDED = ['content-type', 'authorization']

function forwarded(
  { headers, signedHeaders, body }: SignedRequest,
  { allowedHeaders }: StsRequestRules,
): [string, string][] {
  const extra = allowedHeaders.map(name => name.toLowerCase())
  const sent = [...headers].filter(([name]) => {
    const lower = name.toLowerCase()
    if (OURS.includes(lower) || isHopByHop(lower)) return false
    if (signedHeaders.includes(lower)) return true
    return !OURS_UNLESS_SIGNED.includes(lower) && [...AMZ, ...NEEDED, ...extra].includes(lower)
  })
  const lines = sent.flatMap(([name, values]): [string, string][] =>
    name === 'Authorization' ? [[name, values.join(', ')]] : values.map(value => [name, value]),
  )
  if (!signedHeaders.includes('accept')) lines.push(['Accept', 'application/xml'])
  if (!signedHeaders.includes('accept-encoding')) lines.push(['Accept-Encoding', 'identity'])
  if (body !== '' && !headers.has('Content-Type'))
    lines.push(['Content-Type', 'application/x-www-form-urlencoded'])
  if (body !== '' || signedHeaders.includes('content-length'))
    lines.push(['Content-Length', String(Buffer.byteLength(body))])
  return lines
}
