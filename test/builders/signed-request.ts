import type { SignedRequest, SignedRequestInput } from '../../shared/identity-proof/signed-request.ts'
import { readSignedRequest } from '../../shared/identity-proof/signed-request.ts'
import type { StsRequestRules } from '../../shared/identity-proof/sts-request.ts'

export const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')

export const BODY = 'Action=GetCallerIdentity&Version=2011-06-15'
const SIGNATURE = 'f'.repeat(64)

/** Makes an Authorization header with an arbitrary signature, because our code never checks the signature. */
export const authorization = (
  signedHeaders = 'host;x-amz-date',
  region = 'us-east-1',
  service = 'sts',
): string =>
  `AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20260301/${region}/${service}/aws4_request, SignedHeaders=${signedHeaders}, Signature=${SIGNATURE}`

/** The rules of a mount without settings. */
export const usualRules: StsRequestRules = {
  serverId: '',
  serverIdHeader: 'X-Service-Cloud-IAM-Server-ID',
  allowedHeaders: [],
  endpoint: '',
  regionFromClient: false,
  endpointRegion: '',
  homeRegion: 'eu-west-1',
  maxRetries: -1,
}

export const usualHeaders = {
  Host: 'sts.amazonaws.com',
  'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
  'X-Amz-Date': '20260301T102030Z',
  Authorization: authorization(),
}

/**
 * Makes the parameters of an iam login that a client signed as a POST request; a test can replace every part.
 */
export const postInput = (
  headers: Record<string, unknown> = {},
  other: Partial<SignedRequestInput> = {},
): SignedRequestInput => ({
  method: 'POST',
  url: base64('https://sts.amazonaws.com/'),
  body: base64(BODY),
  headers: { ...usualHeaders, ...headers },
  ...other,
})

export const usualQuery: Readonly<Record<string, string>> = {
  Action: 'GetCallerIdentity',
  Version: '2011-06-15',
  'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
  'X-Amz-Credential': 'AKIAEXAMPLE/20260301/us-east-1/sts/aws4_request',
  'X-Amz-Date': '20260301T102030Z',
  'X-Amz-Expires': '900',
  'X-Amz-Security-Token': 'FwoG+/abc==',
  'X-Amz-SignedHeaders': 'host',
  'X-Amz-Signature': SIGNATURE,
}

export const queryText = (query: Record<string, string | undefined>): string =>
  Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')

/**
 * Makes the parameters of an iam login with a presigned URL. Undefined parameters are left out, and `raw` is
 * appended to the query.
 */
export const getInput = (
  query: Record<string, string | undefined> = {},
  { raw = '', host = 'sts.amazonaws.com', headers = { Host: host } as unknown } = {},
): SignedRequestInput => ({
  method: 'GET',
  url: base64(`https://${host}/?${queryText({ ...usualQuery, ...query })}${raw}`),
  body: '',
  headers,
})

/** Makes a parsed signed request. */
export const request = (input: SignedRequestInput = postInput()): SignedRequest => readSignedRequest(input)
