import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Makes a key that signs licences, in the form of the settings. */
export function licenceKey(): { publicKey: string; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'), privateKey }
}

/** Makes a licence with the given claims. */
export function licenceText(
  privateKey: KeyObject,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = { alg: 'EdDSA', typ: 'JWT' },
): string {
  const signed = `${base64url(header)}.${base64url({ jti: 'l-1', features: ['DR Replication'], exp: 4_000_000_000, ...claims })}`
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
}
