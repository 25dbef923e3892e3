import { generateKey, PacketList, type PublicKey, SignaturePacket, UserIDPacket } from 'openpgp'
import { numbers } from './pgp.ts'

// OpenPGP keys that are expensive to process.

/** The accepted algorithms, with the library's options for such a key. */
export const algorithms = {
  'RSA 8192': { type: 'rsa', rsaBits: 8192 },
  'NIST P-256': { type: 'ecc', curve: 'nistP256' },
  'NIST P-384': { type: 'ecc', curve: 'nistP384' },
  'NIST P-521': { type: 'ecc', curve: 'nistP521' },
  'Ed25519, legacy': { type: 'ecc', curve: 'ed25519Legacy' },
  Ed25519: { type: 'curve25519' },
} as const
export type Algorithm = keyof typeof algorithms

/** Returns the most signatures that a key of an algorithm may have. */
export const mostSignatures = (algorithm: Algorithm): number => (algorithm === 'NIST P-521' ? 8 : 24)

/** Makes a key with eleven user IDs and a subkey, each with one signature. */
export async function costlyKey(algorithm: Algorithm): Promise<PublicKey> {
  const userIDs = Array.from('abcdefghijk', name => ({ name }))
  const { publicKey } = await generateKey({ ...algorithms[algorithm], userIDs, format: 'object' })
  return publicKey
}

interface Repeated {
  /** signatures on each user ID and subkey; user IDs beyond `all` signatures are left out */
  onOne: number
  /** total number of signatures of the key */
  all: number
  /** false: only the first signature is valid, so the service has to verify all others */
  valid: boolean
}

/** Returns a copy of the OpenPGP key with repeated signatures. */
export function withSignatures(key: PublicKey, { onOne, all, valid }: Repeated): Buffer {
  const packets = new PacketList()
  const kept = all / onOne - 1
  let [users, count, left] = [0, 0, false]
  for (const part of key.toPacketList()) {
    if (part instanceof UserIDPacket) users += 1
    left = part instanceof UserIDPacket ? users > kept : left && part instanceof SignaturePacket
    if (left) continue
    if (!(part instanceof SignaturePacket)) packets.push(part)
    else for (let one = 0; one < onOne; one++) packets.push(valid || count++ === 0 ? part : spoiled(part))
  }
  return Buffer.from(packets.write())
}

/** Makes an invalid copy of a signature with the same digest. */
function spoiled(signature: SignaturePacket): SignaturePacket {
  const bytes = signature.write()
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  const other = new SignaturePacket()
  void other.read(bytes)
  return other
}

const subpackets = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** Makes an RSA signature with an arbitrary unhashed part. */
export const signatureWith = (unhashed: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([4, 0x13, 1, 8]),
    subpackets(Buffer.from([5, 2, 0x5f, 0, 0, 1])),
    subpackets(unhashed),
    Buffer.from([0, 0]),
    numbers(2047),
  ])
