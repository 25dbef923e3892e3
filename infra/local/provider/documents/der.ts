/** Encodes one value with tag and definite length (X.690, 8.1). */
export function encodeDerTlv(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = unsigned(BigInt(length))
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes])
}

/**
 * Encodes one constructed value of indefinite length, closed by an end-of-contents (X.690, 8.1.3.6): BER, not DER.
 */
export const encodeIndefiniteBer = (tag: number, ...contents: Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.from([tag, 0x80]), ...contents, Buffer.from([0, 0])])

/** Encodes a SEQUENCE. */
export const derSequence = (...items: Uint8Array[]): Buffer => encodeDerTlv(0x30, ...items)

/** Encodes a SET OF, its members in DER order. */
export const derSet = (...items: Buffer[]): Buffer => encodeDerTlv(0x31, ...items.toSorted(Buffer.compare))

/** Encodes a context-specific constructed tag `[number]`. */
export const derTagged = (number: number, ...items: Uint8Array[]): Buffer =>
  encodeDerTlv(0xa0 | number, ...items)

/** Encodes a non-negative INTEGER. */
export function derInteger(value: bigint): Buffer {
  const bytes = unsigned(value)
  return (bytes[0] ?? 0) & 0x80 ? encodeDerTlv(0x02, Buffer.from([0]), bytes) : encodeDerTlv(0x02, bytes)
}

function unsigned(value: bigint): Buffer {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
}

/** Encodes an OBJECT IDENTIFIER from its dotted form. */
export function derOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return encodeDerTlv(0x06, Buffer.from([40 * first + second, ...rest.flatMap(base128)]))
}

function base128(arc: number): number[] {
  const digits = [arc & 0x7f]
  for (let left = arc >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
  return digits
}

/** Encodes NULL. */
export const derNull = (): Buffer => encodeDerTlv(0x05)

/** Encodes BOOLEAN TRUE. */
export const derTrue = (): Buffer => encodeDerTlv(0x01, Buffer.from([0xff]))

/** Encodes an OCTET STRING. */
export const derOctets = (content: Uint8Array): Buffer => encodeDerTlv(0x04, content)

/** Encodes a BIT STRING with `unusedBits` unused bits at its end. */
export const derBitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  encodeDerTlv(0x03, Buffer.from([unusedBits]), content)

/** Encodes a PrintableString. */
export const derPrintableString = (text: string): Buffer => encodeDerTlv(0x13, Buffer.from(text, 'latin1'))

/** Encodes a time in whole seconds: UTCTime up to 2049, GeneralizedTime beyond (RFC 5280, 4.1.2.5). */
export function derTime(milliseconds: number): Buffer {
  const text = `${new Date(milliseconds).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
  return Number(text.slice(0, 4)) < 2050
    ? encodeDerTlv(0x17, Buffer.from(text.slice(2), 'latin1'))
    : encodeDerTlv(0x18, Buffer.from(text, 'latin1'))
}
