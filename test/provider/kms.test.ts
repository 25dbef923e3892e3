import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  GenerateDataKeyCommand,
} from '@aws-sdk/client-kms'
import { describe, expect, test } from 'vitest'
import { account, clientsOf, providerWithUser, region } from './clients.ts'

const context = { table: 'data', key: 'role/dev' }
const plaintext = Buffer.from('a keyring')

async function keyed() {
  const aws = await providerWithUser()
  const { arn } = await aws.control.putKey({ alias: 'app' })
  const { kms } = clientsOf(aws.url, aws.key)
  const encrypted = await kms.send(
    new EncryptCommand({ KeyId: arn, Plaintext: plaintext, EncryptionContext: context }),
  )
  return { ...aws, arn, kms, blob: encrypted.CiphertextBlob ?? new Uint8Array() }
}

describe('Encrypt and Decrypt', () => {
  test('give the plaintext back under the same context, in any order', async () => {
    const { kms, arn, blob } = await keyed()
    const EncryptionContext = { key: context.key, table: context.table }
    const answer = await kms.send(new DecryptCommand({ CiphertextBlob: blob, EncryptionContext }))
    expect(Buffer.from(answer.Plaintext ?? [])).toEqual(plaintext)
    expect(answer.KeyId).toBe(arn)
  })

  test.each([
    ['another context', { ...context, table: 'cluster' }],
    ['a context with more in it', { ...context, more: '1' }],
    ['none', undefined],
  ])('fail under %s', async (_name, EncryptionContext) => {
    const { kms, blob } = await keyed()
    await expect(
      kms.send(new DecryptCommand({ CiphertextBlob: blob, EncryptionContext })),
    ).rejects.toMatchObject({ name: 'InvalidCiphertextException', $metadata: { httpStatusCode: 400 } })
  })

  test('fail for every altered byte, a truncated blob, and garbage', async () => {
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

  test('find a key by id, ARN, alias and alias ARN', async () => {
    const { kms, arn, blob } = await keyed()
    const aliasArn = `arn:aws:kms:${region}:${account}:alias/app`
    for (const KeyId of [arn, arn.split('/')[1], 'alias/app', aliasArn]) {
      await expect(
        kms.send(new DecryptCommand({ CiphertextBlob: blob, EncryptionContext: context, KeyId })),
      ).resolves.toMatchObject({ KeyId: arn })
    }
  })

  test('refuse a blob of another key than the one named', async () => {
    const { kms, blob } = await keyed()
    await expect(
      kms.send(
        new DecryptCommand({ CiphertextBlob: blob, EncryptionContext: context, KeyId: 'alias/other' }),
      ),
    ).rejects.toMatchObject({ name: 'IncorrectKeyException' })
  })

  test('take at most 4096 bytes', async () => {
    const { kms, arn } = await keyed()
    const encrypt = (length: number) =>
      kms.send(new EncryptCommand({ KeyId: arn, Plaintext: new Uint8Array(length) }))
    await expect(encrypt(4096)).resolves.toBeDefined()
    await expect(encrypt(4097)).rejects.toMatchObject({ name: 'ValidationException' })
  })
})

describe('GenerateDataKey', () => {
  test.each([
    [{ KeySpec: 'AES_256' as const }, 32],
    [{ KeySpec: 'AES_128' as const }, 16],
    [{ NumberOfBytes: 64 }, 64],
  ])('with %j makes a key of %i bytes, which Decrypt gives back', async (size, length) => {
    const { kms, arn } = await keyed()
    const made = await kms.send(new GenerateDataKeyCommand({ KeyId: arn, ...size }))
    const opened = await kms.send(new DecryptCommand({ CiphertextBlob: made.CiphertextBlob }))
    expect(made.Plaintext?.length).toBe(length)
    expect(opened.Plaintext).toEqual(made.Plaintext)
  })

  test('without a size is refused', async () => {
    const { kms, arn } = await keyed()
    await expect(kms.send(new GenerateDataKeyCommand({ KeyId: arn }))).rejects.toMatchObject({
      name: 'ValidationException',
    })
  })
})

describe('keys', () => {
  test('that only a template names come into being when first used', async () => {
    const { kms } = await keyed()
    const KeyId = 'arn:aws:kms:us-west-2:222233334444:key/from-a-template'
    const { CiphertextBlob } = await kms.send(new EncryptCommand({ KeyId, Plaintext: plaintext }))
    await expect(kms.send(new DecryptCommand({ CiphertextBlob }))).resolves.toMatchObject({ KeyId })
    const { KeyMetadata } = await kms.send(new DescribeKeyCommand({ KeyId: 'alias/fresh' }))
    expect(KeyMetadata).toMatchObject({ Enabled: true, KeyState: 'Enabled', AWSAccountId: account })
    const again = await kms.send(new DescribeKeyCommand({ KeyId: 'alias/fresh' }))
    expect(again.KeyMetadata?.Arn).toBe(KeyMetadata?.Arn)
  })

  test('that are disabled neither encrypt nor decrypt, until enabled', async () => {
    const { kms, control, arn, blob } = await keyed()
    await control.disableKey({ arn })
    const decrypt = () => kms.send(new DecryptCommand({ CiphertextBlob: blob, EncryptionContext: context }))
    await expect(decrypt()).rejects.toMatchObject({ name: 'DisabledException' })
    await expect(
      kms.send(new EncryptCommand({ KeyId: 'alias/app', Plaintext: plaintext })),
    ).rejects.toMatchObject({ name: 'DisabledException' })
    const { KeyMetadata } = await kms.send(new DescribeKeyCommand({ KeyId: arn }))
    expect(KeyMetadata).toMatchObject({ Enabled: false, KeyState: 'Disabled' })
    await control.enableKey({ arn })
    await expect(decrypt()).resolves.toBeDefined()
  })

  test('with an impossible name are not found', async () => {
    const { kms } = await keyed()
    await expect(kms.send(new DescribeKeyCommand({ KeyId: 'arn:aws:kms:x' }))).rejects.toMatchObject({
      name: 'NotFoundException',
    })
  })
})

describe('common errors in the words of JSON services', () => {
  test('a bad signature, an unknown key and a denied caller have names of their own', async () => {
    const { url, key, control, user, kms } = await keyed()
    const describeKey = new DescribeKeyCommand({ KeyId: 'alias/app' })
    const wrong = clientsOf(url, { ...key, secretAccessKey: 'x' }).kms
    await expect(wrong.send(describeKey)).rejects.toMatchObject({ name: 'InvalidSignatureException' })
    const unknown = clientsOf(url, { ...key, accessKeyId: 'AKIAX' }).kms
    await expect(unknown.send(describeKey)).rejects.toMatchObject({ name: 'UnrecognizedClientException' })
    await control.deny({ principalArn: user.arn, action: 'kms:DescribeKey' })
    await expect(kms.send(describeKey)).rejects.toMatchObject({ name: 'AccessDeniedException' })
  })
})
