import { DecryptCommand, GenerateDataKeyCommand } from '@aws-sdk/client-kms'
import { describe, expect, test } from 'vitest'
import { account, clientsOf, providerWithUser, region } from './clients.ts'

const context = { table: 'data', key: 'role/dev' }
const arn = `arn:aws:kms:${region}:${account}:key/from-a-template`

async function keyed() {
  const aws = await providerWithUser()
  const { kms } = clientsOf(aws.url, aws.key)
  const made = await kms.send(
    new GenerateDataKeyCommand({ KeyId: arn, KeySpec: 'AES_256', EncryptionContext: context }),
  )
  return { ...aws, kms, plaintext: made.Plaintext, blob: made.CiphertextBlob ?? new Uint8Array() }
}

describe('a data key', () => {
  test('has 32 bytes, and Decrypt returns it with the same context in any order', async () => {
    const { kms, plaintext, blob } = await keyed()
    const EncryptionContext = { key: context.key, table: context.table }
    const answer = await kms.send(new DecryptCommand({ CiphertextBlob: blob, EncryptionContext }))
    expect(plaintext).toHaveLength(32)
    expect(answer).toMatchObject({ Plaintext: plaintext, KeyId: arn })
  })

  test.each([
    ['another context', { ...context, table: 'cluster' }],
    ['a context with an additional entry', { ...context, more: '1' }],
    ['none', undefined],
  ])('does not decrypt under %s', async (_name, EncryptionContext) => {
    const { kms, blob } = await keyed()
    await expect(
      kms.send(new DecryptCommand({ CiphertextBlob: blob, EncryptionContext })),
    ).rejects.toMatchObject({ name: 'InvalidCiphertextException', $metadata: { httpStatusCode: 400 } })
  })

  test('is not decrypted from an altered, truncated or invalid blob', async () => {
    const { kms, blob } = await keyed()
    const garbage = [
      new Uint8Array([1]),
      new Uint8Array([0, 200, 1]),
      blob.subarray(0, -1),
      blob.subarray(0, 90),
    ]
    const altered = [0, 1, 5, blob.length - 40, blob.length - 20, blob.length - 1].map(at =>
      blob.map((byte, n) => (n === at ? byte ^ 1 : byte)),
    )
    for (const CiphertextBlob of [...garbage, ...altered]) {
      await expect(
        kms.send(new DecryptCommand({ CiphertextBlob, EncryptionContext: context })),
      ).rejects.toMatchObject({ name: 'InvalidCiphertextException' })
    }
  })

  test.each([
    ['another size', { KeySpec: 'AES_128' as const }],
    ['a number of bytes', { NumberOfBytes: 64 }],
    ['no size', {}],
  ])('of %s is refused', async (_name, size) => {
    const { kms } = await keyed()
    await expect(kms.send(new GenerateDataKeyCommand({ KeyId: arn, ...size }))).rejects.toMatchObject({
      name: 'ValidationException',
    })
  })

  test.each(['alias/app', 'arn:aws:kms:x'])(
    'of the key %s is refused, because only ARNs are keys',
    async KeyId => {
      const { kms } = await keyed()
      const command = new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256' })
      await expect(kms.send(command)).rejects.toMatchObject({ name: 'NotFoundException' })
    },
  )
})

describe('common errors of JSON services', () => {
  test('have different names for a bad signature, an unknown key and a denied caller', async () => {
    const { url, key, control, user, kms } = await keyed()
    const makeKey = new GenerateDataKeyCommand({ KeyId: arn, KeySpec: 'AES_256' })
    const wrong = clientsOf(url, { ...key, secretAccessKey: 'x' }).kms
    await expect(wrong.send(makeKey)).rejects.toMatchObject({ name: 'InvalidSignatureException' })
    const unknown = clientsOf(url, { ...key, accessKeyId: 'AKIAX' }).kms
    await expect(unknown.send(makeKey)).rejects.toMatchObject({ name: 'UnrecognizedClientException' })
    await control.deny({ principalArn: user.arn, action: 'kms:GenerateDataKey' })
    await expect(kms.send(makeKey)).rejects.toMatchObject({ name: 'AccessDeniedException' })
  })
})
