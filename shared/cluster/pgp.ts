import { invalid } from '../api/errors.ts'

/**
 * Reads an OpenPGP public key: a binary key as base64, or armoured. The library is large and rarely needed: it is
 * loaded here, as a file of its own.
 *
 * @param where what to call the key in a fault
 * @throws ApiError `invalid_request` for what is no public key, or one that nothing can be encrypted with
 */
async function usable(given: string, where: string) {
  const pgp = await import('openpgp')
  try {
    const armoured = given.includes('BEGIN PGP')
    const key = await (armoured
      ? pgp.readKey({ armoredKey: given })
      : pgp.readKey({ binaryKey: new Uint8Array(Buffer.from(given, 'base64')) }))
    if (key.isPrivate()) throw new Error('a private key')
    await key.getEncryptionKey()
    return { pgp, key }
  } catch (cause) {
    throw invalid(`${where} is not a usable OpenPGP public key`, { cause })
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
