const mpi = (bits: number): Buffer => {
  const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xa7)
  bytes[0] = 0xff >> (7 - ((bits - 1) % 8))
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bits)
  return Buffer.concat([length, bytes])
}

/** Makes an OpenPGP packet in the new format, with a length of four bytes. */
export const packet = (tag: number, body: Uint8Array): Buffer => {
  const head = Buffer.alloc(6)
  head[0] = 0xc0 | tag
  head[1] = 255
  head.writeUInt32BE(body.length, 2)
  return Buffer.concat([head, body])
}

/** Makes the body of an OpenPGP key of version 4. */
export const keyBody = (algorithm: number, ...material: Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.from([4, 0x5f, 0, 0, 0, algorithm]), ...material])

/** Makes OpenPGP numbers of the given bit lengths, one after the other. */
export const numbers = (...bits: number[]): Buffer => Buffer.concat(bits.map(mpi))

/**
 * Makes an RSA key with a self-signature on its user ID. To verify a signature, the service raises the
 * signature to the power of the exponent. The numbers are arbitrary, so no signature is valid.
 */
export function hostileKey(modulusBits: number, exponentBits: number): Buffer {
  const created = Buffer.from([5, 2, 0x5f, 0, 0, 1])
  const signature = Buffer.concat([
    Buffer.from([4, 0x13, 1, 8, 0, created.length]),
    created,
    Buffer.from([0, 0, 0, 0]),
    numbers(modulusBits - 1),
  ])
  return Buffer.concat([
    packet(6, keyBody(1, numbers(modulusBits, exponentBits))),
    packet(13, Buffer.from('mallory')),
    packet(2, signature),
  ])
}
