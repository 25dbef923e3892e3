import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  derInteger,
  derSequence,
  encodeDerTlv,
  derOid as objectId,
  derOctets as octetString,
} from '../../../infra/local/provider/documents/der.ts'
import {
  BER_TAG,
  encodeAsDer,
  encodeDerElement,
  readBer,
  readBerOctets,
  readBerOid,
} from '../../../shared/identity-proof/ber.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('readBer', () => {
  test.each([
    ['primitive', '04 02 6162', 0x04, '6162', 0],
    ['empty', '05 00', 0x05, '', 0],
    ['long form that is not needed', '04 82 0002 6162', 0x04, '6162', 0],
    ['long form of eight octets', '04 88 0000000000000002 6162', 0x04, '6162', 0],
    ['constructed', '30 06 0201 05 0201 06', 0x30, '020105020106', 2],
    ['indefinite', '30 80 0201 05 0201 06 0000', 0x30, '020105020106', 2],
    ['empty indefinite', '30 80 0000', 0x30, '', 0],
    ['indefinite in indefinite', '30 80 2480 040161 0000 0000', 0x30, '24800401610000', 1],
  ])('readBer parses a %s element', (_, text, tag, content, children) => {
    const node = readBer(hex(text))
    expect(node).toMatchObject({ tag, raw: hex(text) })
    expect(node?.content.toString('hex')).toBe(content)
    expect(node?.children.length).toBe(children)
  })

  test.each([
    ['nothing', ''],
    ['a tag alone', '30'],
    ['a cut length', '04 82 00'],
    ['a cut content', '04 03 6162'],
    ['bytes after the element', '04 01 61 00'],
    ['a second element', '0401 61 0401 61'],
    ['a child longer than its parent', '30 03 0402 61'],
    ['a grandchild longer than its parent', '30 07 3003 0402 61 0500'],
    ['a tag of several bytes', '1f 01 00'],
    ['an indefinite primitive', '04 80 6162 0000'],
    ['an indefinite element without end', '30 80 0201 05'],
    ['an indefinite element with half an end', '30 80 0201 05 00'],
    ['an indefinite child that ends outside its parent', '30 05 2480 0401 61 0000'],
    ['a length of nine octets', '04 89 000000000000000001 61'],
    ['a length beyond all numbers', '04 88 ffffffffffffffff 61'],
    ['the reserved length 0xff', '04 ff 61'],
  ])('readBer rejects %s', (_, text) => {
    expect(readBer(hex(text))).toBeUndefined()
  })

  test.each([
    [17, true],
    [18, false],
  ])('%i nested levels are accepted: %s', (levels, read) => {
    const nested = Array.from({ length: levels - 1 }).reduce<Buffer>(
      inner => derSequence(inner),
      Buffer.from([5, 0]),
    )
    expect(readBer(nested) !== undefined).toBe(read)
  })

  test('readBer never throws, and its result covers the input', () => {
    const input = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .array(fc.constantFrom(0x30, 0x80, 0x24, 0x04, 0, 1, 2, 0x82, 0xff), { maxLength: 40 })
        .map(list => Uint8Array.from(list)),
    )
    fc.assert(
      fc.property(input, bytes => {
        const node = readBer(Buffer.from(bytes))
        expect(node === undefined || node.raw.equals(bytes)).toBe(true)
      }),
    )
  })
})

describe('readBerOctets', () => {
  test.each([
    ['in one piece', '04 02 6162', 'ab'],
    ['in pieces', '24 80 0401 61 0401 62 0000', 'ab'],
    ['in nested pieces', '24 07 2405 0401 61 0400', 'a'],
    ['without any piece', '24 00', ''],
  ])('readBerOctets joins a constructed OCTET STRING: %s', (_, text, content) => {
    expect(readBerOctets(readBer(hex(text)))?.toString()).toBe(content)
  })

  test.each([
    ['another type', '02 01 61'],
    ['a piece of another type', '24 03 0201 61'],
    ['a SEQUENCE of pieces', '30 03 0401 61'],
  ])('readBerOctets rejects %s', (_, text) => {
    expect(readBerOctets(readBer(hex(text)))).toBeUndefined()
  })
})

describe('readBerOid', () => {
  const read = (content: string) => readBerOid(readBer(encodeDerTlv(BER_TAG.oid, hex(content))))
  test.each(['1.2.840.113549.1.7.2', '2.16.840.1.101.3.4.2.1', '1.3.14.3.2.26', '0.0'])(
    'readBerOid reads %s',
    dotted => {
      expect(readBerOid(readBer(objectId(dotted)))).toBe(dotted)
    },
  )

  test.each([
    ['nothing', ''],
    ['an arc that is cut off', '2a86'],
    ['a whole identifier with a cut arc behind it', '2a864886f70d01070280'],
    ['an arc with a leading zero', '2a80864886f70d010702'],
    ['a first arc with a leading zero', '802a'],
    ['21 octets', '2a'.repeat(21)],
  ])('readBerOid rejects %s', (_, content) => {
    expect(read(content)).toBeUndefined()
  })

  test('readBerOid parses an identifier whose first arc has two octets', () => {
    expect(read('883703')).toBe('2.999.3')
  })

  test('readBerOid rejects elements of another type', () => {
    expect(readBerOid(readBer(hex('04 01 2a')))).toBeUndefined()
  })
})

describe('encodeAsDer', () => {
  test('encodeAsDer gives one encoding for all forms of lengths and strings', () => {
    const der = derSequence(octetString(Buffer.from('abc')), derSequence(derInteger(5n)))
    const ber = hex('30 80 24 80 0401 61 2404 0402 6263 0000 30 82 0003 020105 0000')
    expect(encodeAsDer(readBer(ber) ?? expect.fail())).toEqual(der)
    expect(encodeAsDer(readBer(der) ?? expect.fail())).toEqual(der)
  })

  test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536])(
    'encodeDerElement encodes the shortest length for %i bytes',
    length => {
      const written = encodeDerElement(BER_TAG.octetString, Buffer.alloc(length))
      expect(written).toEqual(octetString(Buffer.alloc(length)))
      expect(readBer(written)?.content.length).toBe(length)
    },
  )
})
