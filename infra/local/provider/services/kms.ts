import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { openKey } from '../state/kms-keys.ts'
import type { KmsKey } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import { type JsonInput, optionalText, requiredBytes, requiredText } from './json-protocol.ts'
import type { ActionCall } from './service.ts'

/** Most bytes Encrypt takes (Encrypt, KMS API reference). */
const maxPlaintext = 4096

const dataKeyLengths: Record<string, number> = { AES_256: 32, AES_128: 16 }

/** Encrypt (KMS API reference), symmetric keys only. */
export function encryptWithKey(call: ActionCall<JsonInput>): object {
  const plaintext = requiredBytes(call.input, 'Plaintext')
  if (plaintext.length > maxPlaintext) throw invalid(`Plaintext must have length at most ${maxPlaintext}`)
  const key = usableKey(call)
  const blob = seal(key, plaintext, contextOf(call.input))
  return { CiphertextBlob: blob, KeyId: key.arn, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
}

/** Decrypt (KMS API reference): the blob names its key; a `KeyId` given as well must be that one. */
export function decryptWithKey(call: ActionCall<JsonInput>): object {
  const blob = requiredBytes(call.input, 'CiphertextBlob')
  const key = call.aws.state.kmsKeys.get(keyNamedIn(blob))
  if (key === undefined) throw invalidCiphertext()
  const given = optionalText(call.input, 'KeyId')
  if (given !== undefined && usableKey(call).arn !== key.arn) {
    throw awsError(400, 'IncorrectKeyException', 'The key ID in the request does not identify the right key.')
  }
  refuseDisabled(key)
  const plaintext = unseal(key, blob, contextOf(call.input))
  return { Plaintext: plaintext, KeyId: key.arn, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
}

/** GenerateDataKey (KMS API reference). */
export function generateDataKey(call: ActionCall<JsonInput>): object {
  const spec = optionalText(call.input, 'KeySpec')
  const length = spec === undefined ? call.input['NumberOfBytes'] : dataKeyLengths[spec]
  if (typeof length !== 'number' || !Number.isInteger(length) || length < 1 || length > 1024) {
    throw invalid('Please specify either number of bytes or key spec.')
  }
  const key = usableKey(call)
  const plaintext = randomBytes(length)
  const blob = seal(key, plaintext, contextOf(call.input))
  return { Plaintext: plaintext.toString('base64'), CiphertextBlob: blob, KeyId: key.arn }
}

/** DescribeKey (KMS API reference); serves disabled keys too. */
export function describeKey(call: ActionCall<JsonInput>): object {
  const key = namedKey(call)
  return {
    KeyMetadata: {
      AWSAccountId: key.account,
      KeyId: key.keyId,
      Arn: key.arn,
      CreationDate: key.createdAt / 1000,
      Enabled: key.enabled,
      KeyState: key.enabled ? 'Enabled' : 'Disabled',
      Description: '',
      KeyUsage: 'ENCRYPT_DECRYPT',
      KeySpec: 'SYMMETRIC_DEFAULT',
      CustomerMasterKeySpec: 'SYMMETRIC_DEFAULT',
      EncryptionAlgorithms: ['SYMMETRIC_DEFAULT'],
      Origin: 'AWS_KMS',
      KeyManager: 'CUSTOMER',
      MultiRegion: false,
    },
  }
}

function namedKey({ aws, caller, region, input }: ActionCall<JsonInput>): KmsKey {
  const keyId = requiredText(input, 'KeyId')
  const key = openKey(aws, { account: caller.account, region }, keyId)
  if (key === undefined) throw awsError(400, 'NotFoundException', `Invalid keyId '${keyId}'`)
  return key
}

function usableKey(call: ActionCall<JsonInput>): KmsKey {
  const key = namedKey(call)
  refuseDisabled(key)
  return key
}

function refuseDisabled(key: KmsKey): void {
  if (!key.enabled) throw awsError(400, 'DisabledException', `${key.arn} is disabled.`)
}

/** The encryption context as one text, whatever order its members came in. */
function contextOf(input: JsonInput): string {
  const context = input['EncryptionContext'] ?? {}
  if (typeof context !== 'object') throw invalid('EncryptionContext must be a map of strings')
  return JSON.stringify(Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/*
 * Blob: length of the key ARN (2 bytes), the ARN, 12 bytes of nonce, 16 of tag, the ciphertext. ARN and
 * encryption context are authenticated.
 */
function seal(key: KmsKey, plaintext: Buffer, context: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key.material, 'base64'), nonce)
  cipher.setAAD(Buffer.from(key.arn + context))
  const sealed = Buffer.concat([cipher.update(plaintext), cipher.final()])
  const header = Buffer.alloc(2)
  header.writeUInt16BE(key.arn.length)
  return Buffer.concat([header, Buffer.from(key.arn), nonce, cipher.getAuthTag(), sealed]).toString('base64')
}

function unseal(key: KmsKey, blob: Buffer, context: string): string {
  const body = blob.subarray(2 + key.arn.length)
  if (body.length < 28) throw invalidCiphertext()
  const material = Buffer.from(key.material, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', material, body.subarray(0, 12))
  decipher.setAAD(Buffer.from(key.arn + context)).setAuthTag(body.subarray(12, 28))
  try {
    return Buffer.concat([decipher.update(body.subarray(28)), decipher.final()]).toString('base64')
  } catch {
    throw invalidCiphertext()
  }
}

const keyNamedIn = (blob: Buffer): string =>
  blob.length < 2 ? '' : blob.subarray(2, 2 + blob.readUInt16BE(0)).toString('latin1')

const invalid = (message: string) => awsError(400, 'ValidationException', message)

const invalidCiphertext = () =>
  awsError(400, 'InvalidCiphertextException', 'The ciphertext is corrupt or not of this key and context.')
