/** One BER value. Constructed values have parts, primitive values have content. */
export interface Ber {
  tag: number
  /** true when the length is open */
  indefinite: boolean
  parts: Ber[]
  content: Buffer
  /** tag, length and content as in the input */
  raw: Buffer
}

/** Reads exactly one BER value, of definite or indefinite length. Throws when bytes are left over. */
export function readBer(bytes: Buffer): Ber {
  const { value, end } = readAt(bytes, 0)
  if (end !== bytes.length) throw new Error(`${bytes.length - end} bytes after the value`)
  return value
}

/** Returns the value at a path of part numbers. */
export function at(value: Ber, ...path: number[]): Ber {
  return path.reduce((from, index) => {
    const part = from.parts[index]
    if (part === undefined) throw new Error(`no part ${index} in a value of tag ${from.tag.toString(16)}`)
    return part
  }, value)
}

function readAt(bytes: Buffer, start: number): { value: Ber; end: number } {
  const tag = bytes.readUInt8(start)
  const first = bytes.readUInt8(start + 1)
  if (first === 0x80) return readIndefinite(bytes, start, tag)
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(start + 2, lengthBytes)
  const from = start + 2 + lengthBytes
  const content = bytes.subarray(from, from + length)
  const parts = tag & 0x20 ? readAll(content) : []
  const raw = bytes.subarray(start, from + length)
  return { value: { tag, indefinite: false, parts, content, raw }, end: from + length }
}

function readIndefinite(bytes: Buffer, start: number, tag: number): { value: Ber; end: number } {
  const parts: Ber[] = []
  let position = start + 2
  while (bytes.readUInt16BE(position) !== 0) {
    const { value, end } = readAt(bytes, position)
    parts.push(value)
    position = end
  }
  const content = bytes.subarray(start + 2, position)
  const raw = bytes.subarray(start, position + 2)
  return { value: { tag, indefinite: true, parts, content, raw }, end: position + 2 }
}

function readAll(content: Buffer): Ber[] {
  const parts: Ber[] = []
  for (let position = 0; position < content.length; ) {
    const { value, end } = readAt(content, position)
    parts.push(value)
    position = end
  }
  return parts
}
