import { invalid } from '../api/errors.ts'

/**
 * Encrypts texts, one for each OpenPGP public key (binary key as base64, or armoured).
 * The library is large and rarely needed: it is loaded here, as a file of its own.
 *
 * @returns OpenPGP messages
 * @throws ApiError `invalid_request` naming the position of a key that cannot be used
 */
export async function encryptEach(
  texts: readonly string[],
  publicKeys: readonly string[],
  field: string,
): Promise<Buffer[]> {
  const pgp = await import('openpgp')
  const messages: Buffer[] = []
  for (const [index, text] of texts.entries()) {
    const given = publicKeys[index] ?? ''
    try {
      const armoured = given.includes('BEGIN PGP')
      const key = await (armoured
        ? pgp.readKey({ armoredKey: given })
        : pgp.readKey({ binaryKey: new Uint8Array(Buffer.from(given, 'base64')) }))
      const message = await pgp.createMessage({ text })
      const encrypted = await pgp.encrypt({ message, encryptionKeys: key, format: 'binary' })
      messages.push(Buffer.from(encrypted as Uint8Array))
    } catch (cause) {
      throw invalid(`${field}: key ${index + 1} is not a usable OpenPGP public key`, { cause })
    }
  }
  return messages
}
