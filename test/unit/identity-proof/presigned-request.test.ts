import { describe, expect, test } from 'vitest'
import { readSignedRequest, type SignedRequestInput } from '../../../shared/identity-proof/signed-request.ts'
import {
  authorization,
  base64,
  getInput,
  queryText,
  request,
  usualQuery,
} from '../../builders/signed-request.ts'

const refuse = (input: SignedRequestInput) => expect(() => readSignedRequest(input))

describe('a presigned GET request', () => {
  test('a presigned request is parsed, and its query stays as signed', () => {
    const read = request(getInput())
    expect(read).toMatchObject({
      method: 'GET',
      target: `/?${queryText(usualQuery)}`,
      body: '',
      signedHeaders: ['host'],
      scope: { region: 'us-east-1', service: 'sts' },
    })
    expect(Object.fromEntries(read.query)).toEqual(usualQuery)
  })

  test.each(['Version', 'X-Amz-Expires', 'X-Amz-Security-Token'])('%s may be left out', name => {
    expect(request(getInput({ [name]: undefined })).query.length).toBe(8)
  })

  test('header names in the query keep their case', () => {
    const moved = { 'x-amz-user-agent': 'aws-sdk-js/3', 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
    expect(request(getInput(moved)).query.slice(-2)).toEqual(Object.entries(moved))
  })

  test('the credential may contain unencoded slashes', () => {
    const raw = `&X-Amz-Credential=${usualQuery['X-Amz-Credential']}`
    expect(request(getInput({ 'X-Amz-Credential': undefined }, { raw })).scope.region).toBe('us-east-1')
  })

  test.each([
    'Action',
    'X-Amz-Algorithm',
    'X-Amz-Credential',
    'X-Amz-Date',
    'X-Amz-SignedHeaders',
    'X-Amz-Signature',
  ])('a presigned URL without %s is rejected', name => {
    refuse(getInput({ [name]: undefined })).toThrow(`holds no ${name}`)
  })

  test.each<[string, Record<string, string>, string]>([
    ['another action', { Action: 'GetSessionToken' }, 'GetCallerIdentity'],
    ['no action', { Action: '' }, 'GetCallerIdentity'],
    ['another version', { Version: '2010-05-08' }, 'wrong Version'],
    ['another algorithm', { 'X-Amz-Algorithm': 'AWS4-ECDSA-P256-SHA256' }, 'version 4'],
    ['a scope of four parts', { 'X-Amz-Credential': 'AKIA/20260301/us-east-1/aws4_request' }, 'version 4'],
    [
      'a scope of six parts',
      { 'X-Amz-Credential': 'AKIA/20260301/x/us-east-1/sts/aws4_request' },
      'version 4',
    ],
    [
      'a scope with more behind it',
      { 'X-Amz-Credential': 'AKIA/20260301/us-east-1/sts/aws4_request/x' },
      'version 4',
    ],
    ['a URL beyond 8 KiB', { 'X-Amz-User-Agent': 'x'.repeat(8192) }, 'must be an https URL'],
    ['signed names in upper case', { 'X-Amz-SignedHeaders': 'Host' }, 'version 4'],
    ['no signed names', { 'X-Amz-SignedHeaders': '' }, 'version 4'],
    ['a signature that does not cover the host', { 'X-Amz-SignedHeaders': 'x-amz-date' }, 'version 4'],
    ['a line break in a value', { 'X-Amz-User-Agent': 'a\r\nHost: x' }, 'malformed'],
    ['a NUL in a value', { 'X-Amz-User-Agent': 'a\0' }, 'malformed'],
    ['a value beyond ASCII', { 'X-Amz-User-Agent': 'é' }, 'malformed'],
  ])('a presigned URL with %s is rejected', (_, query, text) => {
    refuse(getInput(query)).toThrow(text)
  })
})

describe('the query has only one interpretation: CVE-2022-2385', () => {
  test.each([
    ['Action twice', '&Action=GetCallerIdentity'],
    ['Action, and action in lower case', '&action=GetSessionToken'],
    ['Credential twice', '&X-Amz-Credential=AKIA%2F20260301%2Feu-west-1%2Fsts%2Faws4_request'],
    ['SignedHeaders, and signedheaders in lower case', '&x-amz-signedheaders=host'],
    ['an unknown name twice', '&x=1&X=2'],
  ])('the query is rejected: %s', (_, raw) => {
    refuse(getInput({}, { raw })).toThrow('names a parameter twice')
  })

  test.each(['Action', 'Version', 'X-Amz-SignedHeaders', 'X-Amz-Security-Token', 'X-Amz-Expires'])(
    'the parameter %s in another case is rejected',
    name => {
      const raw = `&${name.toLowerCase()}=${encodeURIComponent(usualQuery[name] ?? '')}`
      refuse(getInput({ [name]: undefined }, { raw })).toThrow('in the wrong case')
    },
  )

  test.each([
    ['an encoded name', '&%41ction=GetSessionToken'],
    ['an encoded hyphen in a name', '&X%2DAmz%2DDate=x'],
    ['a name with brackets', '&Action[]=GetSessionToken'],
    ['a name with a dot', '&Action.1=GetSessionToken'],
    ['no name', '&=GetSessionToken'],
    ['no value', '&Action'],
    ['an empty parameter', '&'],
    ['two separators', '&&x=1'],
    ['a semicolon for a separator', '&x=1;Action=GetSessionToken'],
    ['a second equals sign', '&x=1=2'],
    ['a plus sign', '&x=a+b'],
    ['half an escape', '&x=%4'],
    ['an escape that is none', '&x=%zz'],
    ['bytes that are no UTF-8', '&x=%ff'],
    ['an overlong encoding', '&x=%c0%80'],
    ['an encoded ampersand', '&x=1%26Action%3DGetSessionToken'],
    ['an escape of an escape', '&x=1%2526Action%253DGetSessionToken'],
    ['a question mark', '&x=?Action=GetSessionToken'],
    ['a quote', '&x="'],
  ])('the query is rejected: %s', (_, raw) => {
    refuse(getInput({}, { raw })).toThrow('malformed query')
  })

  test('a query that begins with a separator is rejected', () => {
    const url = base64(`https://sts.amazonaws.com/?&${queryText(usualQuery)}`)
    refuse({ ...getInput(), url }).toThrow('malformed query')
  })
})

describe('rejected parts of a presigned request', () => {
  test('a presigned request with a body is rejected', () => {
    refuse({ ...getInput(), body: base64('Action=GetSessionToken') }).toThrow('body must be empty')
  })

  test.each(['Authorization', 'authorization', 'AUTHORIZATION'])(
    'a second signature is rejected in %s',
    name => {
      refuse(getInput({}, { headers: { Host: 'sts.amazonaws.com', [name]: authorization() } })).toThrow(
        'Authorization',
      )
    },
  )

  test('a presigned request without headers is rejected', () => {
    refuse(getInput({}, { headers: {} })).toThrow('iam_request_headers is required')
  })
})
