import { describe, expect, test } from 'vitest'
import { readSignedRequest } from '../../../shared/identity-proof/signed-request.ts'
import { inEachForm } from '../../builders/base64-forms.ts'
import { authorization, base64, getInput, postInput } from '../../builders/signed-request.ts'

const usual = { Host: 'sts.amazonaws.com', Authorization: authorization() }
const read = (headers: unknown) => readSignedRequest(postInput({}, { headers })).headers
const json = JSON.stringify(usual)

describe('forms of iam_request_headers', () => {
  test.each<[string, unknown]>([
    ['an object', usual],
    ['an object of lists', { Host: [usual.Host], Authorization: [usual.Authorization] }],
    ['the text of an object', json],
    ['base64 of the text', base64(json)],
    ...inEachForm(base64(json)),
    ['lines', [`Host: ${usual.Host}`, `Authorization:${usual.Authorization}`]],
    ['names in lower case', { host: usual.Host, authorization: usual.Authorization }],
    ['space around values', { Host: ` ${usual.Host}\t`, Authorization: usual.Authorization }],
  ])('the headers are accepted as %s', (_, headers) => {
    expect(Object.fromEntries(read(headers))).toEqual({
      Host: [usual.Host],
      Authorization: [usual.Authorization],
    })
  })

  test('header names are case-insensitive, and values keep their order', () => {
    const headers = read({ ...usual, 'x-amz-date': '1', 'X-AMZ-DATE': ['2', '3'], 'X-Amz-Date': 4 })
    expect(headers.get('X-Amz-Date')).toEqual(['1', '2', '3', '4'])
  })

  test('names of object methods are ordinary header names', () => {
    const headers = read(
      `{"Host":"h","Authorization":"${usual.Authorization}","__proto__":"x","constructor":"y"}`,
    )
    expect([headers.get('__proto__'), headers.get('Constructor')]).toEqual([['x'], ['y']])
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a number', 1],
    ['an empty text', ''],
    ['an empty object', {}],
    ['an empty list', []],
    ['only empty lists', { Host: [] }],
    ['text that is not JSON', 'Host: x'],
    ['JSON that is not an object', '"Host"'],
    ['a list as JSON text', `["Host: x"]`],
    ['base64 without padding', base64(`${json}    `).replace(/=+$/, '').concat('x')],
    ['a boolean value', { ...usual, X: true }],
    ['a null value', { ...usual, X: null }],
    ['an object value', { ...usual, X: {} }],
    ['a list in a list', { ...usual, X: [['x']] }],
    ['a line without colon', ['Host']],
    ['a line without name', [': x']],
    ['a line that is not a string', [1]],
    ['a name with a space', { ...usual, 'X Y': 'x' }],
    ['a name with a colon', { ...usual, 'X:Y': 'x' }],
    ['an empty name', { ...usual, '': 'x' }],
    ['a name with a line break', { ...usual, 'X\r\nY': 'x' }],
    ['a name beyond ASCII', { ...usual, '\u212a-Header': 'x' }],
    ['a header twice in the text', json.replace('{', '{"Host":"evil.example",')],
    ['a header twice in the base64', base64(json.replace('{', '{"Host":"evil.example",'))],
    ['a header repeated in escapes', base64(json.replace('{', '{"\\u0048ost":"evil.example",'))],
    ['101 values', { ...usual, X: Array.from({ length: 99 }, () => 'x') }],
    ['17 KiB', { ...usual, X: 'x'.repeat(17_000) }],
    ['deeply nested lists', base64(`{"X":${'['.repeat(20)}${']'.repeat(20)}}`)],
  ])('the headers are rejected: %s', (_, headers) => {
    expect(() => read(headers)).toThrow('iam_request_headers')
  })

  describe.each([
    ['a line break', 'x\r\nHost: evil'],
    ['a line break at the end', 'x\n'],
    ['a NUL', 'x\0'],
    ['a letter beyond ASCII', 'é'],
  ])('an illegal header value: %s', (_, value) => {
    test('an illegal value is dropped if the header is neither signed nor sent', () => {
      const headers = read({ ...usual, X: value, Y: ['y', value] })
      expect([headers.has('X'), headers.get('Y')]).toEqual([false, ['y']])
      const presigned = readSignedRequest(getInput({}, { headers: { Host: usual.Host, X: value } }))
      expect(presigned.headers.has('X')).toBe(false)
    })

    test('an illegal value is rejected if the header is signed or sent', () => {
      const signed = authorization('host;x')
      for (const headers of [
        { ...usual, Authorization: signed, x: value },
        { ...usual, Authorization: [usual.Authorization, value] },
        { ...usual, 'Content-Type': value },
        { ...usual, 'X-Amz-Date': value },
      ])
        expect(() => read(headers)).toThrow('iam_request_headers contains an illegal header name or value')
    })
  })

  test('error texts never contain header values', () => {
    expect(() => read({ ...usual, 'X-Amz-Date': 'SECRET\n' })).toThrow(/^(?!.*SECRET)/)
  })
})
