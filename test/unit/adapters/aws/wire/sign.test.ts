import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2'
import { GetUserCommand, IAMClient } from '@aws-sdk/client-iam'
import { DecryptCommand, KMSClient } from '@aws-sdk/client-kms'
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createSigV4Signer, type SigningKey } from '../../../../../shared/adapters/aws/wire/sign.ts'

// Tests that our signatures equal the SDK's signatures at a fixed clock.

beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterAll(() => void vi.useRealTimers())

interface Sent {
  hostname: string
  port?: number
  path: string
  headers: Record<string, string>
  body: string | Uint8Array
}

const text = fc.string({ minLength: 1, maxLength: 20 })
const asked = {
  dynamodb: [
    DynamoDBClient,
    (one: string) => new GetItemCommand({ TableName: 'data', Key: { pk: { S: one } } }),
  ],
  ec2: [EC2Client, (one: string) => new DescribeInstancesCommand({ InstanceIds: [one] })],
  iam: [IAMClient, (one: string) => new GetUserCommand({ UserName: one })],
  kms: [
    KMSClient,
    (one: string) =>
      new DecryptCommand({ CiphertextBlob: Buffer.from(one), EncryptionContext: { keyring: one } }),
  ],
  sts: [STSClient, (one: string) => new AssumeRoleCommand({ RoleArn: one, RoleSessionName: one })],
} as const

const words = fc.stringMatching(/^[\w+/=]{1,40}$/)
const credentials = fc.record(
  { accessKeyId: words, secretAccessKey: words, sessionToken: words },
  { requiredKeys: ['accessKeyId', 'secretAccessKey'] },
)
const endpoint = fc
  .array(fc.stringMatching(/^[\w~ +%()'!*-]{1,6}$/).map(encodeURIComponent), { maxLength: 3 })
  .map(parts => `https://host.test:8443/${parts.join('/')}`)

/** The SDK's request, and its signature. */
async function sentBySdk(service: keyof typeof asked, one: string, given: object): Promise<Sent> {
  let sent: Sent | undefined
  const handle = async (request: Sent) => {
    sent = request
    throw new Error('not sent')
  }
  const [Client, command] = asked[service]
  const client = new Client({ ...given, maxAttempts: 1, requestHandler: { handle } as never })
  await (client.send as (command: object) => Promise<object>)
    .call(client, command(one))
    .catch(() => undefined)
  if (!sent) throw new Error('the SDK did not send anything')
  return sent
}

/** Signs the headers that the SDK has signed, with our code. */
function signedByUs(
  { headers, body, path }: Sent,
  sign: ReturnType<typeof createSigV4Signer>,
  by: SigningKey,
  now: number,
) {
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers['authorization'] ?? '') ?? []
  const rest = Object.entries(headers).filter(([name]) => names.split(';').includes(name))
  const given = Object.fromEntries(rest)
  const host = headers['host'] ?? ''
  const bytes = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  return sign({ host, path, headers: given, body: bytes }, by, now)['authorization']
}

describe.each(Object.keys(asked) as (keyof typeof asked)[])(
  '%s: a signature is the one of the SDK',
  service => {
    test("the signature equals the SDK's for any credentials, region, day, path and content", async () => {
      const region = fc.constantFrom('us-east-1', 'eu-west-1', 'cn-north-1')
      const now = fc.integer({ min: 0, max: 4e12 })
      await fc.assert(
        fc.asyncProperty(credentials, region, now, endpoint, text, async (by, region, at, endpoint, one) => {
          vi.setSystemTime(at)
          const sent = await sentBySdk(service, one, { region, credentials: by, endpoint })
          expect(sent.headers['authorization']).toContain('Signature=')
          expect(signedByUs(sent, createSigV4Signer(service, region), by as SigningKey, at)).toBe(
            sent.headers['authorization'],
          )
        }),
        { numRuns: 60 },
      )
    })
  },
)

test('the key of a day is derived again for another day or other credentials', async () => {
  const region = 'eu-west-1'
  const sign = createSigV4Signer('kms', region)
  const day = 86_400_000
  const one = { accessKeyId: 'AK', secretAccessKey: 'one' }
  for (const now of [0, 1, day, day + 1, 0])
    for (const by of [one, { ...one, secretAccessKey: 'other' }, one]) {
      vi.setSystemTime(now)
      const sent = await sentBySdk('kms', 'x', { region, credentials: by })
      expect(signedByUs(sent, sign, by, now)).toBe(sent.headers['authorization'])
    }
})
