import type { SignaturePacket } from 'openpgp'
import { invalidRequestError } from '../api/errors.ts'
import { readBase64 } from '../values/base64.ts'
import { checkPgpPackets, PgpKeyError } from './pgp-packets.ts'

/** Maximum length of a key's text: a binary key of the largest size as base64, with room for armour. */
const LONGEST_TEXT = 49_152

/**
 * Returns the base64 of an armoured key, without headers such as `Comment: x` and without the checksum. Returns an
 * unarmoured text unchanged.
 */
function unarmoured(keyText: string): string {
  const [, begin] = keyText.split('-----BEGIN PGP')
  if (begin === undefined) return keyText
  const [, body = ''] = begin.split('-----')
  const lines = body.split('\n').filter(line => !line.includes(': '))
  return lines.join('\n').replace(/\s=\S{4}\s*$/, '')
}

/**
 * Decodes an OpenPGP key from base64 or armour. The library never gets a text, only bytes that were checked here.
 * @throws PgpKeyError
 */
function bytesOf(keyText: string): Buffer {
  const bytes = readBase64(unarmoured(keyText), 'optional')
  if (!bytes) throw new PgpKeyError('the key is neither base64 of a binary key nor an armoured key')
  return bytes
}

const unusable = (where: string, cause: unknown) =>
  invalidRequestError(
    `${where} is not a usable OpenPGP public key${cause instanceof PgpKeyError ? `: ${cause.message}` : ''}`,
    { cause },
  )

/**
 * Decodes a public key and checks its sizes, which takes almost no time.
 * @param keyText a binary key as base64, or armoured; line ends and blanks are ignored
 * @param where name of the key in error texts
 * @throws ApiError `invalid_request` for a text that is not a public key, or a key that would take too long to compute with
 */
export function decodePgpPublicKey(keyText: string, where: string): Buffer {
  try {
    if (keyText.length > LONGEST_TEXT)
      throw new PgpKeyError(`the text of the key has ${keyText.length} characters (limit ${LONGEST_TEXT})`)
    const bytes = bytesOf(keyText)
    checkPgpPackets(bytes)
    return bytes
  } catch (cause) {
    throw unusable(where, cause)
  }
}

/**
 * Reads an OpenPGP public key: a binary key as base64, or armoured. The function loads the library only at this
 * point, because it is large and rarely needed.
 * @param where name of the key in error texts
 * @throws ApiError `invalid_request` for a text that is not a public key, or a key that cannot encrypt
 */
async function usable(keyText: string, where: string) {
  const binaryKey = new Uint8Array(decodePgpPublicKey(keyText, where))
  const pgp = await import('openpgp')
  // without OpenSSL's support the library would compute in JavaScript, which takes forty times as long
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

/** Makes the library verify a signature once. The library would verify an invalid signature up to four times. */
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

/** Returns the fingerprint of a public key in lower-case hex. @throws ApiError `invalid_request` */
export async function pgpFingerprintOf(publicKey: string, where: string): Promise<string> {
  const { key } = await usable(publicKey, where)
  return key.getFingerprint()
}

/**
 * Encrypts a text for a public key.
 * @returns an OpenPGP message
 * @throws ApiError `invalid_request`
 */
export async function encryptForPgpKey(publicKey: string, text: string, where: string): Promise<Buffer> {
  const { pgp, key } = await usable(publicKey, where)
  const message = await pgp.createMessage({ text })
  const encrypted = await pgp.encrypt({ message, encryptionKeys: key, format: 'binary' })
  return Buffer.from(encrypted as Uint8Array)
}

/** Encrypts texts, one text for each public key. Error texts name the position of the faulty key. */
export async function encryptForEachPgpKey(
  texts: readonly string[],
  publicKeys: readonly string[],
  field: string,
): Promise<Buffer[]> {
  const messages: Buffer[] = []
  for (const [index, text] of texts.entries())
    messages.push(await encryptForPgpKey(publicKeys[index] ?? '', text, `${field}: key ${index + 1}`))
  return messages
}
