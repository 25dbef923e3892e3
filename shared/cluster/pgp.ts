import { invalid } from '../api/errors.ts'
import { checkPackets, KeyFault } from './pgp-packets.ts'

/**
 * The bytes of a key, from base64 or armour. What both mean is decided here alone: the library is handed bytes that
 * were looked at, never a text.
 */
function bytesOf(given: string): Buffer {
  if (!given.includes('BEGIN PGP')) return Buffer.from(given, 'base64')
  const lines = given.split('\n').map(line => line.trim())
  const begin = lines.findIndex(line => line.startsWith('-----BEGIN PGP'))
  const body = lines.slice(begin + 1)
  // headers, then an empty line; then base64 until a checksum or the end
  const first = body.findIndex(line => line !== '' && !line.includes(': '))
  const after = body.findIndex((line, index) => index >= first && /^(=.{4}$|-----END)/.test(line))
  return Buffer.from(body.slice(first, after === -1 ? undefined : after).join(''), 'base64')
}

const unusable = (where: string, cause: unknown) =>
  invalid(
    `${where} is not a usable OpenPGP public key${cause instanceof KeyFault ? `: ${cause.message}` : ''}`,
    { cause },
  )

/**
 * Looks at a key's sizes, which costs nothing.
 * @param given a binary key as base64, or armoured
 * @param where what to call the key in a fault
 * @throws ApiError `invalid_request` for what is no public key, or one with which it costs too much to compute
 */
export function checkSizes(given: string, where: string): Buffer {
  const bytes = bytesOf(given)
  try {
    checkPackets(bytes)
  } catch (cause) {
    throw unusable(where, cause)
  }
  return bytes
}

/**
 * Reads an OpenPGP public key: a binary key as base64, or armoured. The library is large and rarely needed: it is
 * loaded here, as a file of its own.
 *
 * @param where what to call the key in a fault
 * @throws ApiError `invalid_request` for what is no public key, or one that nothing can be encrypted with
 */
async function usable(given: string, where: string) {
  const binaryKey = new Uint8Array(checkSizes(given, where))
  const pgp = await import('openpgp')
  try {
    const key = await pgp.readKey({ binaryKey })
    await key.getEncryptionKey()
    return { pgp, key }
  } catch (cause) {
    throw unusable(where, cause)
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
