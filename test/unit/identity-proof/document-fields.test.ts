import { describe, expect, test } from 'vitest'
import { parseInstanceDocument } from '../../../shared/identity-proof/instance-document.ts'
import { documentText, usualDocument } from '../../builders/instance-document.ts'

describe('the fields of an identity document', () => {
  const read = (text: string | Buffer) => parseInstanceDocument(Buffer.from(text))

  test('a document gives its fields and its start time', () => {
    const value = {
      instanceId: usualDocument.instanceId,
      imageId: usualDocument.imageId,
      accountId: usualDocument.accountId,
      region: usualDocument.region,
      pendingTime: usualDocument.pendingTime,
      startedAt: { seconds: Date.UTC(2026, 2, 1, 10, 20, 30) / 1000, fraction: '' },
    }
    expect(read(documentText())).toEqual({ ok: true, value })
  })

  test('a document without imageId is accepted', () => {
    expect(read(documentText({ imageId: undefined }))).toMatchObject({ value: { imageId: '' } })
  })

  test.each<[string, Record<string, unknown>]>([
    ['no instanceId', { instanceId: undefined }],
    ['instanceId in another case', { instanceId: undefined, InstanceID: usualDocument.instanceId }],
    ['a number for instanceId', { instanceId: 1 }],
    ['a list for instanceId', { instanceId: [usualDocument.instanceId] }],
    ['an instance ID in upper case', { instanceId: 'I-0123456789ABCDEF0' }],
    ['a short instance ID', { instanceId: 'i-0123456' }],
    ['a long instance ID', { instanceId: `${usualDocument.instanceId}0` }],
    ['a newline behind the instance ID', { instanceId: `${usualDocument.instanceId}\n` }],
    ['a path for instanceId', { instanceId: 'i-01234567/../x' }],
    ['no accountId', { accountId: undefined }],
    ['11 digits of account', { accountId: '11112222333' }],
    ['13 digits of account', { accountId: '1111222233334' }],
    ['an account as number', { accountId: 111_122_223_333 }],
    ['an account in full-width digits', { accountId: '１１１１22223333' }],
    ['no region', { region: undefined }],
    ['a host for region', { region: 'eu-west-1.evil.example#' }],
    ['an empty region', { region: '' }],
    ['a region of an unknown partition', { region: 'us-iso-east-1' }],
    ['an overlong region', { region: `eu${'-west'.repeat(10)}-1` }],
    ['no pendingTime', { pendingTime: undefined }],
    ['a pendingTime that is not in RFC 3339 format', { pendingTime: '2026-03-01 10:20:30' }],
    ['a pendingTime on 29 February 2026', { pendingTime: '2026-02-29T10:20:30Z' }],
  ])('a document is rejected: %s', (_, fields) => {
    expect(read(documentText(fields))).toMatchObject({ fault: { why: 'document' } })
  })

  const text = documentText()
  test.each([
    ['a repeated field', text.replace('{', '{"region":"us-east-1",')],
    ['a field repeated in escapes', text.replace('{', '{"r\\u0065gion":"us-east-1",')],
    ['a repeated field in a nested object', text.replace('{', '{"x":{"a":1,"a":2},')],
    ['a byte order mark', `\u{feff}${text}`],
    ['a list', `[${text}]`],
    ['null', 'null'],
    ['two documents', `${text}${text}`],
    ['text after the document', `${text}x`],
    ['text that is not JSON', 'a document'],
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from(`",${text.slice(1)}`)]),
    ],
    ['UTF-16', Buffer.from(text, 'utf16le')],
    ['deeply nested lists', text.replace('{', `{"x":${'['.repeat(50)}${']'.repeat(50)},`)],
    ['inherited fields', '{"__proto__":'.concat(text, '}')],
  ])('a document with an invalid field is rejected: %s', (_, hostile) => {
    expect(read(hostile)).toMatchObject({ fault: { why: 'document' } })
  })
})
