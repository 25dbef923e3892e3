import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeBase64, decodeBase64Url, readBase64 } from '../../../shared/values/base64.ts'
import { inEachForm } from '../../builders/base64-forms.ts'

const decoders = {
  Strict: decodeBase64,
  Wrapped: (text: string) => readBase64(text),
  Unpadded: (text: string) => readBase64(text, 'optional'),
  Url: decodeBase64Url,
}

/** Returns the names of the decoders that read a text. */
const readers = (text: string): string =>
  Object.entries(decoders)
    .filter(([, decode]) => decode(text) !== undefined)
    .map(([name]) => name)
    .join(' ')

describe('base64', () => {
  test.each([
    ['', 'Strict Wrapped Unpadded Url'],
    ['QQ==', 'Strict Wrapped Unpadded Url'],
    ['QUI=', 'Strict Wrapped Unpadded Url'],
    ['QUJD', 'Strict Wrapped Unpadded Url'],
    ['+/+/', 'Strict Wrapped Unpadded'],
    ['-_-_', 'Url'],
    ['QQ', 'Unpadded Url'],
    ['QUI', 'Unpadded Url'],
    ['QQ=', ''],
    ['Q', ''],
    ['QQ===', ''],
    ['QQ======', ''],
    ['=', ''],
    ['====', ''],
    ['QR==', ''],
    ['QUJ=', ''],
    ['QR', ''],
    ['QQ==QQ==', ''],
    ['QU=D', ''],
    ['QUJD!', ''],
    ['QUJD\0', ''],
    ['QÜJD', ''],
    ['QU\nJD', 'Wrapped Unpadded'],
    ['Q Q\t=\r\n=', 'Wrapped Unpadded'],
    ['QQ\n', 'Unpadded'],
    ['QU\u{a0}JD', ''],
    ['+/-_', ''],
  ])('%j is accepted by: %s', (text, expected) => {
    expect(readers(text)).toBe(expected)
  })

  test('each decoder returns the encoded bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), bytes => {
        const buffer = Buffer.from(bytes)
        const standard = buffer.toString('base64')
        const bare = buffer.toString('base64url')
        expect(decodeBase64(standard)).toEqual(buffer)
        expect(readBase64(standard.replace(/.{3}/g, '$&\r\n'))).toEqual(buffer)
        expect(readBase64(standard.split('=')[0] ?? '', 'optional')).toEqual(buffer)
        expect(decodeBase64Url(bare)).toEqual(buffer)
      }),
    )
  })

  test.each(inEachForm(Buffer.alloc(200, 'any bytes').toString('base64')))(
    'base64 as people paste it is read in the form: %s',
    (_, text) => {
      expect(decodeBase64(text)).toBeUndefined()
      for (const padding of ['required', 'optional'] as const)
        expect(readBase64(text, padding)).toEqual(Buffer.alloc(200, 'any bytes'))
    },
  )

  test('no two texts decode to the same bytes', () => {
    fc.assert(
      fc.property(fc.base64String(), fc.base64String(), (a, b) => {
        const [x, y] = [decodeBase64(a), decodeBase64(b)]
        expect(a === b || x === undefined || y === undefined || !x.equals(y)).toBe(true)
      }),
    )
  })

  // A regular expression that tries every '=' as a start takes two minutes, so this test would time out.
  test.each(Object.entries(decoders))('%s decodes a megabyte of padding in one pass', (_, decode) => {
    const padding = '='.repeat(1_000_000)
    expect(decode(padding)).toBeUndefined()
    expect(decode(`${padding}x`)).toBeUndefined()
    expect(decode(`${' '.repeat(1_000_000)}${padding}x`)).toBeUndefined()
  })
})
