import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { sealBytes, unsealBytes } from '../state/seal.ts'
import { awsError } from '../wire/errors.ts'
import { createJsonAction } from './json-protocol.ts'

const keyArn = /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/
const DATA_KEY_BYTES = 32

type EncryptionContext = Readonly<Record<string, string>>

const context = v.optional(v.record(v.string(), v.string(), 'ValidationException'), {})

/**
 * GenerateDataKey (KMS API reference), for AES-256 only. Every key ARN is accepted, because templates name
 * keys and nothing creates keys in this KMS.
 */
export const generateDataKey = createJsonAction(
  v.object({
    KeyId: v.pipe(v.string(), v.regex(keyArn, 'NotFoundException')),
    KeySpec: v.literal('AES_256', 'ValidationException'),
    EncryptionContext: context,
  }),
  ({ aws, input: { KeyId, EncryptionContext } }) => {
    const plaintext = randomBytes(DATA_KEY_BYTES)
    const sealed = sealBytes(aws, useOf(KeyId, EncryptionContext), plaintext)
    const CiphertextBlob = Buffer.concat([Buffer.from(`${KeyId} `), sealed]).toString('base64')
    return { KeyId, CiphertextBlob, Plaintext: plaintext.toString('base64') }
  },
)

/** Decrypt (KMS API reference). The ciphertext begins with the ARN of its KMS key. */
export const decryptWithKey = createJsonAction(
  v.object({ CiphertextBlob: v.string(), EncryptionContext: context }),
  ({ aws, input: { CiphertextBlob, EncryptionContext } }) => {
    const blob = Buffer.from(CiphertextBlob, 'base64')
    const end = blob.indexOf(' ')
    const KeyId = blob.toString('latin1', 0, Math.max(0, end))
    const plaintext = unsealBytes(aws, useOf(KeyId, EncryptionContext), blob.subarray(end + 1))
    if (plaintext === undefined)
      throw awsError(
        400,
        'InvalidCiphertextException',
        'The ciphertext is corrupt or not of this key and context.',
      )
    return { Plaintext: plaintext.toString('base64'), KeyId, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
  },
)

/**
 * Returns a text for a key with an encryption context, which does not depend on the order of the context's
 * members.
 */
const useOf = (arn: string, members: EncryptionContext): string =>
  JSON.stringify([arn, ...Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))])
