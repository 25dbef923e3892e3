import type { SignaturePacket } from 'openpgp'
import { invalid } from '../api/errors.ts'
import { readBase64 } from '../values/base64.ts'
import { checkPackets, KeyFault } from './pgp-packets.ts'

/** Characters of a key at most: a binary key of the largest size, with room for armour. */
const LONGEST_TEXT = 49_152

/**
 * Returns the base64 of an armoured key: headers such as `Comment: x` and the checksum at the end are left out. Any
 * other text is returned as it is.
 */
function unarmoured(given: string): string {
  const [, begin] = given.split('-----BEGIN PGP')
  if (begin === undefined) return given
  const [, body = ''] = begin.split('-----')
  const lines = body.split('\n').filter(line => !line.includes(': '))
  return lines.join('\n').replace(/\s=\S{4}\s*$/, '')
}

/**
 * Decodes a key from base64 or armour. What both mean is decided here alone: the library is handed bytes that were
 * looked at, never a text.
 * @throws KeyFault
 */
function bytesOf(given: string): Buffer {
  const bytes = readBase64(unarmoured(given), 'optional')
  if (!bytes) throw new KeyFault('it is neither base64 of a binary key nor an armoured key')
  return bytes
}

const unusable = (where: string, cause: unknown) =>
  invalid(
    `${where} is not a usable OpenPGP public key${cause instanceof KeyFault ? `: ${cause.message}` : ''}`,
    { cause },
  )

/**
 * Looks at a key's sizes, which costs nothing.
 * @param given a binary key as base64, or armoured; line ends and blanks may stand anywhere
 * @param where what to call the key in a fault
 * @throws ApiError `invalid_request` for what is no public key, or one with which it costs too much to compute
 */
export function decodePublicKey(given: string, where: string): Buffer {
  try {
    if (given.length > LONGEST_TEXT)
      throw new KeyFault(`its text has ${given.length} characters, and ${LONGEST_TEXT} are taken`)
    const bytes = bytesOf(given)
    checkPackets(bytes)
    return bytes
  } catch (cause) {
    throw unusable(where, cause)
  }
}

/**
 * Reads an OpenPGP public key: a binary key as base64, or armoured. The library is large and rarely needed: it is
 * loaded here, as a file of its own.
 *
 * @param where what to call the key in a fault
 * @throws ApiError `invalid_request` for what is no public key, or one that nothing can be encrypted with
 */
async function usable(given: string, where: string) {
  const binaryKey = new Uint8Array(decodePublicKey(given, where))
  const pgp = await import('openpgp')
  // where the machine's own library does not do, it would compute in JavaScript: forty times as long
  pgp.config.useEllipticFallback = false
  try {
    const key = await pgp.readKey({ binaryKey })
    for (const packet of key.toPacketList()) if (packet instanceof pgp.SignaturePacket) verifyOnce(packet)
    await key.getEncryptionKey()
    return { pgp, key }
  } catch (cause) {
    throw unusable(where, cause)
  }
}

/** Remembers that a signature is not valid: the library would verify such a one up to four times. */
function verifyOnce(signature: SignaturePacket): void {
  const verify = signature.verify.bind(signature)
  let fault: unknown
  signature.verify = async (...parameters) => {
    if (fault) throw fault
    await verify(...parameters).catch((cause: unknown) => {
      fault = cause
      throw cause
    })
  }
}

/** Lower-case hex. @throws ApiError `invalid_request` */
export async function fingerprintOf(publicKey: string, where: string): Promise<string> {
  const { key } = await usable(publicKey, where)
  return key.getFingerprint()
}

/**
 * Encrypts a text.
 * @returns an OpenPGP message
 * @throws ApiError `invalid_request`
 */
export async function encryptFor(publicKey: string, text: string, where: string): Promise<Buffer> {
  const { pgp, key } = await usable(publicKey, where)
  const message = await pgp.createMessage({ text })
  const encrypted = await pgp.encrypt({ message, encryptionKeys: key, format: 'binary' })
  return Buffer.from(encrypted as Uint8Array)
}

/** Encrypts texts, one for each public key; faults name the key's position. */
export async function encryptEach(
  texts: readonly string[],
  publicKeys: readonly string[],
  field: string,
): Promise<Buffer[]> {
  const messages: Buffer[] = []
  for (const [index, text] of texts.entries())
    messages.push(await encryptFor(publicKeys[index] ?? '', text, `${field}: key ${index + 1}`))
  return messages
}
