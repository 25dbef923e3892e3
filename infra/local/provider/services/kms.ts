import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../state/seal.ts'
import { awsError } from '../wire/errors.ts'
import { type JsonInput, requiredBytes, requiredText } from './json-protocol.ts'
import type { ActionCall } from './service.ts'

const keyArn = /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/
const DATA_KEY_BYTES = 32

/** GenerateDataKey (KMS API reference), of AES-256 alone. Every key exists: templates name keys, and nobody makes them here. */
export function generateDataKey({ aws, input }: ActionCall<JsonInput>): object {
  const KeyId = requiredText(input, 'KeyId')
  if (!keyArn.test(KeyId)) throw awsError(400, 'NotFoundException', `Invalid keyId '${KeyId}'`)
  if (input['KeySpec'] !== 'AES_256')
    throw awsError(400, 'ValidationException', 'KeySpec must be AES_256: this KMS makes no other data keys')
  const plaintext = randomBytes(DATA_KEY_BYTES)
  const sealed = seal(aws, useOf(KeyId, input), plaintext)
  const CiphertextBlob = Buffer.concat([Buffer.from(`${KeyId} `), sealed]).toString('base64')
  return { KeyId, CiphertextBlob, Plaintext: plaintext.toString('base64') }
}

/** Decrypt (KMS API reference): the blob begins with the ARN of its key. */
export function decryptWithKey({ aws, input }: ActionCall<JsonInput>): object {
  const blob = requiredBytes(input, 'CiphertextBlob')
  const end = blob.indexOf(' ')
  const KeyId = blob.toString('latin1', 0, Math.max(0, end))
  const plaintext = unseal(aws, useOf(KeyId, input), blob.subarray(end + 1))
  if (plaintext === undefined)
    throw awsError(
      400,
      'InvalidCiphertextException',
      'The ciphertext is corrupt or not of this key and context.',
    )
  return { Plaintext: plaintext.toString('base64'), KeyId, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
}

/** A key and an encryption context, whatever order its members came in. */
function useOf(arn: string, input: JsonInput): string {
  const context = input['EncryptionContext'] ?? {}
  if (typeof context !== 'object')
    throw awsError(400, 'ValidationException', 'EncryptionContext must be a map of strings')
  return JSON.stringify([arn, ...Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1))])
}
