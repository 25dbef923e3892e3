import {
  DecryptCommand,
  GenerateDataKeyCommand,
  KMSClient,
  type KMSClientResolvedConfig,
} from '@aws-sdk/client-kms'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLazyKms } from '../../../../shared/adapters/aws/kms.ts'
import { wireTransport } from '../../../../shared/adapters/aws/wire/post.ts'
import { sized } from '../../../support/runner/size.ts'

// Tests that our KMS client sends the same requests as the SDK, and reads answers in the same way.

const MUTATED = sized(150, 1000)
const GENERATED = sized(40, 400)
const REGION = 'eu-west-1'
const credentials = { accessKeyId: 'AK', secretAccessKey: 'secret' }

/** The answers for both clients, and the requests that both sent. */
const state = { status: 200, text: '', sent: [] as object[] }
const told = (host: string, path: string, headers: Record<string, string>, body: string) => {
  const { 'content-type': type, 'x-amz-target': target } = headers
  // members of a JSON object may be in any order
  state.sent.push({ host, path, type, target, body: target ? JSON.parse(body) : body })
}

interface Sent {
  hostname: string
  path: string
  headers: Record<string, string>
  body: string | Uint8Array
}
const handler = {
  handle: async ({ hostname, path, headers, body }: Sent) => {
    told(hostname, path, headers, typeof body === 'string' ? body : new TextDecoder().decode(body))
    const { status: statusCode, text } = state
    return { response: { statusCode, headers: {}, body: Buffer.from(text) } }
  },
} as never as KMSClientResolvedConfig['requestHandler']
const kms = new KMSClient({ region: REGION, maxAttempts: 1, credentials, requestHandler: handler })

beforeEach(() => {
  vi.stubEnv('AWS_REGION', REGION)
  vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey)
  vi.stubEnv('AWS_ENDPOINT_URL_KMS', '')
  vi.spyOn(Math, 'random').mockReturnValue(0)
  vi.spyOn(wireTransport, 'post').mockImplementation(async ({ host, path }, headers, body) => {
    told(host, path, headers, String(body))
    return { status: state.status, headers: {}, body: Buffer.from(state.text) }
  })
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const meter = { count: () => undefined, measure: () => Promise.reject(new Error('not used')) }
interface Way {
  /** a valid answer */
  answer: fc.Arbitrary<string>
  /** the SDK's call, with a result in our adapter's form */
  sdk: (name: string) => Promise<unknown>
  wire: (name: string) => Promise<unknown>
}

const text = fc.string({ minLength: 1, maxLength: 9 })
/** Generates texts that JSON can represent unchanged. */
const word = fc.stringMatching(/^[!-~]{1,9}$/)
const base64 = fc.uint8Array({ minLength: 1, maxLength: 20 }).map(one => Buffer.from(one).toString('base64'))
const contextOf = (keyring: string) => ({ keyring })
const key = (given: Uint8Array | undefined) => {
  if (!given?.length) throw new Error('KMS gave no key')
  return Buffer.from(given).toString('hex')
}

const ways: Record<string, Way> = {
  'KMS, a key': {
    answer: base64.map(Plaintext => JSON.stringify({ KeyId: 'arn', Plaintext })),
    sdk: async id => {
      const CiphertextBlob = Buffer.from(id)
      const command = new DecryptCommand({ CiphertextBlob, EncryptionContext: contextOf(id) })
      return key((await kms.send(command)).Plaintext)
    },
    wire: async id =>
      key(await createLazyKms(meter).unwrap({ id, wrappedKey: Buffer.from(id).toString('base64') })),
  },
  'KMS, a new key': {
    answer: fc
      .tuple(base64, base64)
      .map(([Plaintext, CiphertextBlob]) => JSON.stringify({ KeyId: 'arn', Plaintext, CiphertextBlob })),
    sdk: async KeyId => {
      const command = new GenerateDataKeyCommand({
        KeyId,
        KeySpec: 'AES_256',
        EncryptionContext: contextOf(KeyId),
      })
      const { Plaintext, CiphertextBlob } = await kms.send(command)
      return { dataKey: key(Plaintext), wrapped: key(CiphertextBlob) }
    },
    wire: async id => {
      const { dataKey, wrapped } = await createLazyKms(meter).newDataKey(id, id)
      return { dataKey: key(dataKey), wrapped: key(Buffer.from(wrapped, 'base64')) }
    },
  },
}

/** Returns the results of both clients for the same answer, and their last requests. */
async function both(way: Way, name: string, status: number, answer: string) {
  const settled = async (work: (name: string) => Promise<unknown>) => {
    Object.assign(state, { status, text: answer, sent: [] })
    const end = await work(name).then(
      value => ({ value }),
      (error: Error) => ({ error: (error.cause as Error | undefined) ?? error }),
    )
    return { end, sent: state.sent[0] }
  }
  return { expected: await settled(way.sdk), got: await settled(way.wire) }
}

describe.each(Object.entries(ways))('%s, compared with the SDK', (_, way) => {
  test('our client sends the same request and reads the same answer', async () => {
    await fc.assert(
      fc.asyncProperty(text, way.answer, async (name, answer) => {
        const { expected, got } = await both(way, name, 200, answer)
        expect(got.sent).toEqual(expected.sent)
        if ('value' in expected.end) expect(got.end).toEqual(expected.end)
        else expect(got.end).toHaveProperty('error')
      }),
      { numRuns: GENERATED },
    )
  })

  test('our client rejects malformed answers, or reads the answers as the SDK does', async () => {
    let refused = 0
    const mutated = fc
      .tuple(way.answer, fc.nat(), fc.nat(), fc.nat(2), word)
      .map(([whole, at, to, how, put]) => {
        const [from, end] = [at % whole.length, Math.min(whole.length, (at % whole.length) + (to % 12))]
        if (how === 0) return whole.slice(0, from)
        return `${whole.slice(0, from)}${how === 1 ? put : ''}${whole.slice(end)}`
      })
    await fc.assert(
      fc.asyncProperty(mutated, async answer => {
        const { expected, got } = await both(way, 'i-1', 200, answer)
        if ('error' in got.end) refused += 1
        else expect(got.end).toEqual(expected.end)
      }),
      { numRuns: MUTATED },
    )
    expect(refused).toBeGreaterThan(MUTATED / 10)
  })

  test.each([400, 403, 404, 500, 503])(
    'our client and the SDK read errors with status %i alike',
    async status => {
      for (const code of ['Throttling', 'AccessDenied', 'AuthFailure', 'ExpiredToken', 'InternalFailure']) {
        const json = JSON.stringify({ __type: `com.amazonaws#${code}`, message: 'said' })
        const { expected, got } = await both(way, 'i-1', status, json)
        const seen = ({
          error: { name, message, $metadata },
        }: {
          error: Error & { $metadata?: { httpStatusCode?: number } }
        }) => ({ name, message, status: $metadata?.httpStatusCode })
        expect(seen(got.end as never), code).toEqual(seen(expected.end as never))
      }
    },
  )
})
