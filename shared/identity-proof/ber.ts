/** One element of a BER encoding. */
export interface BerNode {
  /** identifier octet */
  tag: number
  /** the bytes of the whole element */
  raw: Buffer
  /** the content octets; without the end mark of an indefinite-length element */
  content: Buffer
  /** elements inside a constructed element */
  children: readonly BerNode[]
}

export const BER_TAG = {
  integer: 0x02,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  /** [0] and [1], constructed */
  context0: 0xa0,
  context1: 0xa1,
} as const

const CONSTRUCTED = 0x20
const MULTI_BYTE_TAG = 0x1f
const LONG_FORM = 0x80
const DEEPEST = 16

/**
 * Parses one BER element that fills the input. Accepts definite and indefinite lengths, and lengths longer than necessary. Limits
 * the nesting to 16 levels.
 *
 * @returns undefined for malformed input; never throws
 * @see docs/spec/login-ec2.md#pkcs7
 */
export function readBer(input: Buffer): BerNode | undefined {
  const node = readNode(input, 0, input.length, 0)
  return node?.raw.length === input.length ? node : undefined
}

function readNode(input: Buffer, start: number, end: number, depth: number): BerNode | undefined {
  const tag = input[start]
  if (tag === undefined || start + 2 > end || depth > DEEPEST || (tag & MULTI_BYTE_TAG) === MULTI_BYTE_TAG)
    return undefined
  const constructed = (tag & CONSTRUCTED) !== 0
  if (input[start + 1] === LONG_FORM)
    return constructed ? readIndefinite(input, start, end, depth, tag) : undefined
  const header = readLength(input, start + 1, end)
  if (!header || header.at + header.length > end) return undefined
  const last = header.at + header.length
  const children = constructed ? readChildren(input, header.at, last, depth) : []
  return (
    children && { tag, raw: input.subarray(start, last), content: input.subarray(header.at, last), children }
  )
}

function readLength(input: Buffer, at: number, end: number): { at: number; length: number } | undefined {
  const first = input[at] ?? LONG_FORM
  if (first < LONG_FORM) return { at: at + 1, length: first }
  const count = first & ~LONG_FORM
  if (count === 0 || count > 8 || at + 1 + count > end) return undefined
  let length = 0
  for (const byte of input.subarray(at + 1, at + 1 + count)) length = length * 256 + byte
  return { at: at + 1 + count, length }
}

function readChildren(input: Buffer, start: number, end: number, depth: number): BerNode[] | undefined {
  const children: BerNode[] = []
  for (let at = start; at < end; ) {
    const child = readNode(input, at, end, depth + 1)
    if (!child) return undefined
    children.push(child)
    at += child.raw.length
  }
  return children
}

function readIndefinite(
  input: Buffer,
  start: number,
  end: number,
  depth: number,
  tag: number,
): BerNode | undefined {
  const children: BerNode[] = []
  let at = start + 2
  while (at + 2 <= end && (input[at] !== 0 || input[at + 1] !== 0)) {
    const child = readNode(input, at, end, depth + 1)
    if (!child) return undefined
    children.push(child)
    at += child.raw.length
  }
  if (at + 2 > end) return undefined
  return { tag, raw: input.subarray(start, at + 2), content: input.subarray(start + 2, at), children }
}

/** Returns the bytes of an OCTET STRING, also if it is split into nested parts; undefined for other elements. */
export function readBerOctets(node: BerNode | undefined): Buffer | undefined {
  if (node?.tag === BER_TAG.octetString) return node.content
  if (node?.tag !== (BER_TAG.octetString | CONSTRUCTED)) return undefined
  const pieces = node.children.map(readBerOctets)
  return pieces.includes(undefined) ? undefined : Buffer.concat(pieces as Buffer[])
}

const LONGEST_OID = 20

/**
 * Returns the dotted text of an OBJECT IDENTIFIER; undefined for other elements, truncated identifiers and padded arcs, because
 * each identifier has exactly one encoding.
 */
export function readBerOid(node: BerNode | undefined): string | undefined {
  if (node?.tag !== BER_TAG.oid || node.content.length > LONGEST_OID) return undefined
  const arcs: number[] = []
  let value = 0
  let begun = false
  for (const byte of node.content) {
    if (!begun && byte === LONG_FORM) return undefined
    value = value * 128 + (byte & 0x7f)
    begun = byte >= LONG_FORM
    if (begun) continue
    arcs.push(value)
    value = 0
  }
  if (begun || arcs.length === 0) return undefined
  const [first = 0, ...rest] = arcs
  const root = Math.min(Math.floor(first / 40), 2)
  return [root, first - root * 40, ...rest].join('.')
}

/** Re-encodes an element with definite, shortest lengths and unsplit octet strings, as DER requires. */
export function encodeAsDer(node: BerNode): Buffer {
  const string = readBerOctets(node)
  if (string) return encodeDerElement(BER_TAG.octetString, string)
  const constructed = (node.tag & CONSTRUCTED) !== 0
  return encodeDerElement(
    node.tag,
    constructed ? Buffer.concat(node.children.map(encodeAsDer)) : node.content,
  )
}

/** Encodes content under a tag, with the shortest definite length. The result is DER if the content is. */
export function encodeDerElement(tag: number, content: Buffer): Buffer {
  if (content.length < LONG_FORM) return Buffer.concat([Buffer.from([tag, content.length]), content])
  const hex = content.length.toString(16)
  const length = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.from([tag, LONG_FORM | length.length]), length, content])
}
