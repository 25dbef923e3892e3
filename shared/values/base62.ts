const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Encodes bytes as one number in base 62, padded to `length` characters. 21 bytes (168 bits) fill 29 characters. */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  while (rest > 0n) {
    text = (ALPHABET[Number(rest % 62n)] ?? '') + text
    rest /= 62n
  }
  return text.padStart(length, '0')
}
