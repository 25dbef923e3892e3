import { describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../shared/api/fields.ts'
import { loginFields } from '../../../shared/auth-method/login/fields.ts'
import { loginTypeOf } from '../../../shared/auth-method/login.ts'

const typeOf = (raw: Record<string, unknown>) => loginTypeOf(readParameterFields(loginFields, raw).parameters)
const MISSING = 'required authentication values are missing'

const ec2 = { pkcs7: 'x' }
const pair = { identity: 'x', signature: 'x' }
const post = {
  iam_http_request_method: 'POST',
  iam_request_url: 'x',
  iam_request_body: 'x',
  iam_request_headers: {},
}
const { iam_request_body: _, ...get } = { ...post, iam_http_request_method: 'GET' }

describe('the login type of a request', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['pkcs7', ec2, 'ec2'],
    ['identity and signature', pair, 'ec2'],
    ['an empty pkcs7, which is supplied', { pkcs7: '' }, 'ec2'],
    ['a pkcs7 of null, which is supplied', { pkcs7: null }, 'ec2'],
    ['POST', post, 'iam'],
    ['GET', get, 'iam'],
    ['GET with a body', { ...get, iam_request_body: 'x' }, 'iam'],
    ['empty values', { ...post, iam_request_url: '', iam_request_body: '' }, 'iam'],
    ['ec2 and a part of iam', { ...ec2, iam_http_request_method: 'GET' }, 'ec2'],
    ['iam and a part of ec2', { ...post, identity: 'x' }, 'iam'],
    ['a nonce with iam', { ...post, nonce: 'x' }, 'iam'],
  ])('%s: type $2', (_, raw, type) => {
    expect(typeOf(raw)).toBe(type)
  })

  test.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['a role alone', { role: 'dev' }],
    ['identity alone', { identity: 'x' }],
    ['signature alone', { signature: 'x' }],
    ['POST without body', getAs('POST')],
    ['another case of GET without body', getAs('get')],
    ['iam without method', { ...post, iam_http_request_method: undefined }],
    ['iam without URL', { iam_http_request_method: 'GET', iam_request_headers: {} }],
    ['iam without headers', { iam_http_request_method: 'GET', iam_request_url: 'x' }],
    ['names of an object’s methods', JSON.parse('{"__proto__":{"pkcs7":"x"}}')],
  ])('%s is incomplete', (_, raw) => {
    expect(() =>
      typeOf(Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined))),
    ).toThrow(MISSING)
  })

  test.each<[Record<string, unknown>, string]>([
    [{ identity: 'x' }, 'signature'],
    [{ signature: 'x' }, 'identity'],
    [getAs('POST'), 'iam_request_body'],
    [{ iam_http_request_method: 'GET', iam_request_url: 'x' }, 'iam_request_headers'],
    [{ iam_request_url: 'x' }, 'iam_http_request_method, iam_request_headers, iam_request_body'],
  ])('%j lacks the fields %s', (raw, fields) => {
    expect(() => typeOf(raw)).toThrow(`${MISSING}: ${fields}`)
  })

  test.each([
    ['pkcs7', { ...post, ...ec2 }],
    ['identity and signature', { ...get, ...pair }],
  ])('%s and a complete iam request in one login are rejected', (_, raw) => {
    expect(() => typeOf(raw)).toThrow('values for both the ec2 and the iam type were given')
  })
})

function getAs(method: string) {
  return { ...get, iam_http_request_method: method }
}
