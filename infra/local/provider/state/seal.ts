import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { ImitatedAws } from './imitated-aws.ts'

const NONCE = 12
const TAG = 16

const keyOf = ({ state }: ImitatedAws): Buffer => Buffer.from(state.sealKey, 'base64')

/**
 * Encrypts data that only this imitated AWS can decrypt, so that the data need not be stored.
 * @param use purpose, bound as additional authenticated data
 */
export function sealBytes(aws: ImitatedAws, use: string, plaintext: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', keyOf(aws), nonce).setAAD(Buffer.from(use))
  const sealed = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Decrypts the output of `sealBytes`. @returns undefined for any other input */
export function unsealBytes(aws: ImitatedAws, use: string, sealed: Buffer): Buffer | undefined {
  if (sealed.length < NONCE + TAG) return undefined
  const decipher = createDecipheriv('aes-256-gcm', keyOf(aws), sealed.subarray(0, NONCE))
  decipher.setAAD(Buffer.from(use)).setAuthTag(sealed.subarray(NONCE, NONCE + TAG))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()])
  } catch {
    return undefined
  }
}

/** Encrypts a text as a token. */
export const sealText = (aws: ImitatedAws, use: string, text: string): string =>
  sealBytes(aws, use, Buffer.from(text)).toString('base64')

/** Decrypts a token of `sealText`, which has one valid spelling. @returns undefined for any other text */
export function unsealText(aws: ImitatedAws, use: string, token: string): string | undefined {
  const bytes = Buffer.from(token, 'base64')
  return bytes.toString('base64') === token ? unsealBytes(aws, use, bytes)?.toString('utf8') : undefined
}
