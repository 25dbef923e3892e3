import { failed, ok, type Result } from '../../../../shared/values/result.ts'
import type { AwsErrorKind, AwsErrorText } from '../wire/errors.ts'
import { type FormPair, parseFormPairs } from '../wire/form.ts'
import { requestHeaderOf, type WireRequest } from '../wire/http.ts'

/** The signature that a request presents, before it is verified. */
export interface PresentedSignature {
  form: 'header' | 'query'
  accessKeyId: string
  /** Credential scope: `YYYYMMDD`, region, service. */
  scope: { date: string; region: string; service: string }
  /** Names of the signed headers, in the signer's order. */
  signedHeaders: string[]
  /** The signature, which an honest sender writes in lower-case hexadecimal. */
  signature: string
  /** `YYYYMMDD'T'HHMMSS'Z'`. */
  timestamp: string
  sessionToken: string | undefined
}

const algorithm = 'AWS4-HMAC-SHA256'

const refused = (kind: AwsErrorKind, message: string) => failed<AwsErrorText>({ kind, message })
const incomplete = (message: string) => refused('incomplete', message)

/**
 * Reads the signature of a request from its `Authorization` header or its query.
 * @returns a refusal: `unsigned` if the request has no signature, `incomplete` or `bad-signature` if the
 * signature is malformed
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
export function readPresentedSignature(request: WireRequest): Result<PresentedSignature, AwsErrorText> {
  const query = parseFormPairs(request.query)
  if (query === undefined) return incomplete('The query string contains a syntax error')
  const presigned = query.filter(([name]) => name.startsWith('X-Amz-'))
  const authorization = requestHeaderOf(request, 'authorization')
  const inQuery = presigned.some(([name]) => name === 'X-Amz-Algorithm' || name === 'X-Amz-Signature')
  if (authorization !== undefined && inQuery)
    return incomplete('Only one of the Authorization header and the query may carry a signature')
  if (authorization !== undefined) return fromHeader(request, authorization)
  if (inQuery) return fromQuery(presigned)
  return refused('unsigned', 'Request is missing Authentication Token')
}

function fromHeader(request: WireRequest, authorization: string): Result<PresentedSignature, AwsErrorText> {
  const [name, ...rest] = authorization.trim().split(/\s+/)
  if (name !== algorithm) return incomplete(`Unsupported authorization type: '${name}'`)
  const parts = rest.join(' ').split(',')
  const fields = uniqueFields(parts.map(part => splitField(part.trim())))
  if (fields === undefined) return incomplete('Authorization header names a parameter twice')
  const missing = ['Credential', 'Signature', 'SignedHeaders'].filter(field => !fields.get(field))
  const timestamp = requestHeaderOf(request, 'x-amz-date') ?? basicDate(requestHeaderOf(request, 'date'))
  if (missing.length > 0 || timestamp === undefined)
    return incomplete(missing.map(requires('Authorization header')).concat(noDate(timestamp)).join(' '))
  return signatureOf('header', fields, '', timestamp, requestHeaderOf(request, 'x-amz-security-token'))
}

function fromQuery(pairs: readonly FormPair[]): Result<PresentedSignature, AwsErrorText> {
  const fields = uniqueFields(pairs)
  if (fields === undefined) return incomplete('The query string names a parameter twice')
  if (fields.get('X-Amz-Algorithm') !== algorithm)
    return incomplete(`AWS query-string parameters must include 'X-Amz-Algorithm=${algorithm}'`)
  const wanted = ['X-Amz-Credential', 'X-Amz-Signature', 'X-Amz-SignedHeaders', 'X-Amz-Date']
  const missing = wanted.filter(field => !fields.get(field))
  if (missing.length > 0) return incomplete(missing.map(requires('AWS query-string')).join(' '))
  const timestamp = fields.get('X-Amz-Date') ?? ''
  return signatureOf('query', fields, 'X-Amz-', timestamp, fields.get('X-Amz-Security-Token'))
}

function signatureOf(
  form: PresentedSignature['form'],
  fields: ReadonlyMap<string, string>,
  prefix: string,
  timestamp: string,
  sessionToken: string | undefined,
): Result<PresentedSignature, AwsErrorText> {
  const credential = fields.get(`${prefix}Credential`) ?? ''
  const [accessKeyId = '', date = '', region = '', service = '', terminator, ...more] = credential.split('/')
  if (terminator === undefined || more.length > 0)
    return incomplete(
      `Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '${credential}'`,
    )
  if (terminator !== 'aws4_request')
    return refused(
      'bad-signature',
      `Credential should be scoped with a valid terminator: 'aws4_request', not '${terminator}'.`,
    )
  return ok({
    form,
    accessKeyId,
    scope: { date, region, service },
    signedHeaders: (fields.get(`${prefix}SignedHeaders`) ?? '').split(';'),
    signature: fields.get(`${prefix}Signature`) ?? '',
    timestamp,
    sessionToken,
  })
}

function uniqueFields(pairs: readonly FormPair[]): Map<string, string> | undefined {
  const fields = new Map(pairs)
  return fields.size === pairs.length ? fields : undefined
}

function splitField(text: string): FormPair {
  const at = text.indexOf('=')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

const requires = (where: string) => (field: string) => `${where} requires '${field}' parameter.`

const noDate = (timestamp: string | undefined): string[] =>
  timestamp === undefined
    ? ["Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."]
    : []

/** Formats a time as basic ISO 8601: `YYYYMMDD'T'HHMMSS'Z'`. @param time milliseconds since 1970 */
export const toBasicTimeText = (time: number): string =>
  new Date(time).toISOString().replace(/[-:]|\.\d{3}/g, '')

/** Converts a `Date` header, in either format that signers use, to basic ISO 8601. */
function basicDate(value: string | undefined): string | undefined {
  if (value === undefined || /^\d{8}T\d{6}Z$/.test(value)) return value
  const time = Date.parse(value)
  return Number.isNaN(time) ? value : toBasicTimeText(time)
}
