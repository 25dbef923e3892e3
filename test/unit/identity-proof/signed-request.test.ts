import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../shared/api/errors.ts'
import {
  readSignedRequest,
  requestAgeSeconds,
  type SignedRequestInput,
} from '../../../shared/identity-proof/signed-request.ts'
import { inEachForm } from '../../builders/base64-forms.ts'
import {
  authorization,
  BODY,
  base64,
  getInput,
  postInput,
  request,
  usualHeaders,
} from '../../builders/signed-request.ts'

/** Returns the field that the error names. */
function refused(input: SignedRequestInput): string {
  try {
    readSignedRequest(input)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_request') throw error
    return error.message.split(/[: ]/)[0] ?? ''
  }
}

const url = (text: string) => postInput({}, { url: base64(text) })
const body = (text: string) => postInput({}, { body: base64(text) })
const signed = (value: unknown) => postInput({ Authorization: value })

describe('the age of a signature', () => {
  const now = Date.UTC(2026, 2, 1, 10, 30, 30)
  test.each([
    ['with a date in the header', postInput(), 600],
    ['with a date in the query', getInput(), 600],
    ['with a date in the future', postInput({ 'X-Amz-Date': '20260301T103031Z' }), -1],
    ['with an impossible date', getInput({ 'X-Amz-Date': '20269901T102030Z' }), undefined],
    ['with a date in another format', postInput({ 'X-Amz-Date': '2026-03-01T10:20:30Z' }), undefined],
    ['without a date', postInput({ 'X-Amz-Date': '' }), undefined],
  ])('%s', (_, input, age) => {
    expect(requestAgeSeconds(request(input), now)).toBe(age)
  })
})

describe('a POST request', () => {
  test('a POST request is parsed into its parts', () => {
    const { headers, ...rest } = request()
    expect(rest).toEqual({
      method: 'POST',
      host: 'sts.amazonaws.com',
      target: '/',
      query: [],
      body: BODY,
      signedHeaders: ['host', 'x-amz-date'],
      scope: { region: 'us-east-1', service: 'sts' },
    })
    expect(Object.fromEntries(headers)).toEqual(
      Object.fromEntries(Object.entries(usualHeaders).map(([name, value]) => [name, [value]])),
    )
  })

  test.each(['', 'post', 'Post', 'POST ', 'PUT', 'GET, POST', 'HEAD', '__proto__'])(
    'a request with the method %j is rejected',
    method => {
      expect(refused(postInput({}, { method }))).toBe('iam_http_request_method')
    },
  )
})

describe('the URL of a signed request', () => {
  test.each([
    ['https://sts.amazonaws.com', 'sts.amazonaws.com'],
    ['https://sts.amazonaws.com/', 'sts.amazonaws.com'],
    ['https://STS.AmazonAWS.com/', 'sts.amazonaws.com'],
    ['https://sts.amazonaws.com:443/', 'sts.amazonaws.com'],
    ['https://sts.example.com:8443/', 'sts.example.com:8443'],
  ])('the URL %s gives the host %s', (text, host) => {
    expect(request(url(text))).toMatchObject({ host, target: '/' })
  })

  test.each([
    'http://sts.amazonaws.com/',
    'HTTPS://sts.amazonaws.com/',
    '//sts.amazonaws.com/',
    'sts.amazonaws.com',
    'https:///',
    'https://sts.amazonaws.com/x',
    'https://sts.amazonaws.com//',
    'https://sts.amazonaws.com/.',
    'https://sts.amazonaws.com/%2e%2e/',
    'https://sts.amazonaws.com/#x',
    'https://sts.amazonaws.com#x',
    'https://user@sts.amazonaws.com/',
    'https://user:password@sts.amazonaws.com/',
    'https://evil.example\\@sts.amazonaws.com/',
    'https://sts.amazonaws.com\\.evil.example/',
    'https://sts.amazonaws.com@evil.example/',
    'https://sts.amazonaws.com /',
    ' https://sts.amazonaws.com/',
    'https://sts.amazonaws.com/\n',
    'https://sts.amazon\taws.com/',
    'https://sts.amazonaws.com./',
    'https://-sts.amazonaws.com/',
    'https://sts.amazonaws.com:/',
    'https://sts.amazonaws.com:443:443/',
    'https://sts.amazonaws.com:999999/',
    'https://[::1]/',
    'https://sts%2eamazonaws.com/',
    'https://ſts.amazonaws.com/',
    'https://sts。amazonaws.com/',
    `https://sts.amazonaws.com/?${'x'.repeat(8192)}`,
  ])('the URL %j is rejected', text => {
    expect(refused(url(text))).toBe('iam_request_url')
  })

  test('POST with a query is rejected, and an empty query is ignored', () => {
    expect(refused(url('https://sts.amazonaws.com/?Action=GetSessionToken'))).toBe('iam_request_url')
    expect(refused(url('https://sts.amazonaws.com/?x'))).toBe('iam_request_url')
    expect(refused(url('https://sts.amazonaws.com/?'))).toBe('accepted')
  })

  test.each([
    ['missing', ''],
    ['not base64', 'https://sts.amazonaws.com/'],
    ['not padded', base64('https://sts.amazonaws.com').replace(/=+$/, '')],
  ])('a URL that is %s is rejected', (_, text) => {
    expect(refused(postInput({}, { url: text }))).toBe('iam_request_url')
  })
})

test.each(inEachForm(base64('https://sts.eu-west-1.amazonaws.com/')))(
  'the base64 of a URL is read in the form: %s',
  (_, text) => expect(request(postInput({}, { url: text })).host).toBe('sts.eu-west-1.amazonaws.com'),
)

describe('the body: CVE-2020-16250', () => {
  test.each([BODY, 'Version=2011-06-15&Action=GetCallerIdentity'])(
    'the body %s is accepted unchanged',
    text => {
      expect(request(body(text)).body).toBe(text)
    },
  )

  test.each([
    'Action=AssumeRoleWithWebIdentity&Version=2011-06-15',
    'Action=GetSessionToken&Version=2011-06-15',
    'Action=GetCallerIdentity',
    'Version=2011-06-15',
    `${BODY}&Action=GetSessionToken`,
    `Action=GetSessionToken&${BODY}`,
    `${BODY}&action=GetSessionToken`,
    `${BODY}&RoleArn=x`,
    `${BODY}&`,
    `&${BODY}`,
    `${BODY};Action=GetSessionToken`,
    `${BODY}\n`,
    `\u{ef}\u{bb}\u{bf}${BODY}`,
    'Action=GetCallerIdentity&Version=2011-06-16',
    'Action=GetCaller%49dentity&Version=2011-06-15',
    'Action=GetCallerIdentity&Version=2011%2D06%2D15',
    'action=GetCallerIdentity&version=2011-06-15',
    '{"Action":"GetCallerIdentity"}',
  ])('the body %s is rejected', text => {
    expect(refused(body(text))).toBe('iam_request_body')
  })

  test.each(inEachForm(base64(BODY)))('the body is accepted in the base64 form: %s', (_, text) => {
    expect(request(postInput({}, { body: text })).body).toBe(BODY)
  })

  test.each(['', 'not base64!', base64(BODY).replace(/=+$/, '')])(
    'a body with the invalid base64 %j is rejected',
    text => {
      expect(refused(postInput({}, { body: text }))).toBe('iam_request_body')
    },
  )
})

describe('parsing the Authorization header', () => {
  test.each([
    ['as the SDKs write it', authorization()],
    ['without spaces', authorization().replaceAll(', ', ',')],
    ['in three values', authorization().split(', ')],
    ['with space around', ` ${authorization()} `],
  ])('the Authorization header is accepted %s', (_, value) => {
    expect(request(signed(value))).toMatchObject({
      signedHeaders: ['host', 'x-amz-date'],
      scope: { region: 'us-east-1', service: 'sts' },
    })
  })

  const usual = authorization()
  test.each<[string, unknown]>([
    ['no value', []],
    ['an empty value', ''],
    ['another authorization scheme', 'Bearer hvs.x'],
    ['another signature version', usual.replace('AWS4', 'AWS3')],
    ['another signature algorithm', usual.replace('HMAC', 'ECDSA-P256')],
    ['no SignedHeaders', usual.replace(/SignedHeaders=[^,]*, /, '')],
    ['empty SignedHeaders', authorization('')],
    [
      'SignedHeaders twice',
      usual.replace('Signature=', 'SignedHeaders=host;x-vault-aws-iam-server-id, Signature='),
    ],
    ['SignedHeaders behind the signature', `${usual}, SignedHeaders=host`],
    ['a signature in each of two values', [usual, usual]],
    ['another signature in a second value', [usual, authorization('host;x-service-cloud-iam-server-id')]],
    ['a signed name in upper case', authorization('Host;x-amz-date')],
    ['a signed name twice', authorization('host;x-amz-date;host')],
    ['an empty signed name', authorization('host;;x-amz-date')],
    ['a signature that does not cover the host', authorization('x-amz-date')],
    ['a short signature', usual.slice(0, -1)],
    ['a signature in upper case', usual.replace(/f{64}/, 'F'.repeat(64))],
    ['no Credential', usual.replace(/Credential=[^,]*, /, '')],
    ['a Credential of four parts', usual.replace('/aws4_request', '')],
    ['a Credential of six parts', usual.replace('/sts/', '/sts/x/')],
    ['a Credential with another terminator', usual.replace('aws4_request', 'aws4')],
    ['a Credential with an invalid date', usual.replace('20260301', '2026')],
  ])('an Authorization header with %s is rejected', (_, value) => {
    expect(refused(signed(value))).toBe('iam_request_headers')
  })

  test('header names are case-insensitive, so two Authorization headers are rejected', () => {
    expect(refused(postInput({ authorization: authorization('host') }))).toBe('iam_request_headers')
  })
})

test('arbitrary text never causes an internal error', () => {
  const text = fc.oneof(fc.string(), fc.string().map(base64))
  fc.assert(
    fc.property(
      fc.constantFrom('GET', 'POST'),
      text,
      text,
      fc.oneof(text, fc.jsonValue()),
      (method, address, form, headers) => {
        expect(refused({ method, url: address, body: form, headers })).toBeTypeOf('string')
      },
    ),
  )
})

describe('requests signed with a temporary key', () => {
  const temporary = authorization().replace('AKIA', 'ASIA')
  const credential = 'ASIAEXAMPLE/20260301/us-east-1/sts/aws4_request'
  const HINT = 'is signed with a temporary key, but has no X-Amz-Security-Token'

  test('a request without the session token is rejected with what to do', () => {
    expect(() => request(postInput({ Authorization: temporary }))).toThrow(
      `iam_request_headers: the request ${HINT}`,
    )
    const presigned = getInput({ 'X-Amz-Credential': credential, 'X-Amz-Security-Token': undefined })
    expect(() => request(presigned)).toThrow(`iam_request_url: the request ${HINT}`)
  })

  test('a request with the session token is accepted', () => {
    const headers = { Authorization: temporary, 'X-Amz-Security-Token': 'token' }
    expect(refused(postInput(headers))).toBe('accepted')
    expect(refused(getInput({ 'X-Amz-Credential': credential }))).toBe('accepted')
  })
})
