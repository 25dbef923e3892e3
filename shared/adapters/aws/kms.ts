import { alarmingTexts } from '../../api/alarming.ts'
import { ApiError } from '../../api/errors.ts'
import type { Keyring } from '../../model/cluster.ts'
import type { CallMeter } from '../../ports.ts'
import { readOwnCredentials, readWireSettings, type WireSettings } from './environment.ts'
import { parseJsonAnswer, readAwsResult } from './wire/json.ts'
import { ATTEMPT_TIMEOUT_MS, CALL_TIMEOUT_MS, FIRST_RETRY_PAUSE_MS, MAX_ATTEMPTS } from './wire/limits.ts'
import { createRetryCall } from './wire/retry.ts'
import { createSignedPost, type SendSignedPost } from './wire/signed-posts.ts'

/** Returns the encryption context that a wrapped data key is bound to. */
const contextOf = (keyring: string) => ({ keyring })

const WHY =
  'KMS does not decrypt with the key of the data stack; check that the key is enabled and that the key policy allows kms:Decrypt'

/** Throws `busy` for a failed KMS call. A KMS error is never the client's fault, and may pass. */
function throwKmsBusy(cause: unknown): never {
  throw new ApiError('busy', `${alarmingTexts.keyring}: ${WHY}`, { retryAfter: 5, cause })
}

/**
 * The two KMS calls that a keyring needs.
 * @throws ApiError `busy`
 */
export interface KmsCalls {
  unwrap(keyring: Pick<Keyring, 'id' | 'wrappedKey'>): Promise<Uint8Array>
  /** `newDataKey` creates a data key for a keyring; returns it in clear and wrapped */
  newDataKey(keyring: string, keyArn: string): Promise<{ wrapped: string; dataKey: Uint8Array }>
}

/** Calls KMS over HTTP. The endpoint of KMS is determined at the first call. */
export function createLazyKms(meter: CallMeter): KmsCalls {
  let posts: SendSignedPost | undefined
  const insist = createRetryCall({ most: MAX_ATTEMPTS, pauseMs: FIRST_RETRY_PAUSE_MS })

  async function call(action: string, input: object): Promise<Record<string, unknown>> {
    meter.count('kms')
    posts ??= postsTo(readWireSettings())
    const send = posts
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `TrentService.${action}`,
    }
    const body = JSON.stringify(input)
    const attempt = async (left: number) =>
      readAwsResult(
        parseJsonAnswer(await send(headers, body, Math.min(ATTEMPT_TIMEOUT_MS, Math.max(1, left)))),
      )
    return insist(attempt, CALL_TIMEOUT_MS)
  }

  return {
    unwrap: async ({ id, wrappedKey }) => {
      const { Plaintext } = await call('Decrypt', {
        CiphertextBlob: wrappedKey,
        EncryptionContext: contextOf(id),
      }).catch(throwKmsBusy)
      return parseBytes(Plaintext) ?? throwKmsBusy(new Error('KMS returned no key'))
    },
    newDataKey: async (id, KeyId) => {
      const { CiphertextBlob, Plaintext } = await call('GenerateDataKey', {
        KeyId,
        KeySpec: 'AES_256',
        EncryptionContext: contextOf(id),
      }).catch(throwKmsBusy)
      const [wrapped, dataKey] = [parseBytes(CiphertextBlob), parseBytes(Plaintext)]
      if (!wrapped || !dataKey) return throwKmsBusy(new Error('KMS returned no key'))
      return { wrapped: wrapped.toString('base64'), dataKey }
    },
  }
}

const postsTo = (settings: WireSettings): SendSignedPost =>
  createSignedPost({ service: 'kms', settings, credentials: readOwnCredentials })

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Parses base64 in a KMS answer; undefined for any other text. */
const parseBytes = (text: unknown): Buffer | undefined =>
  typeof text === 'string' && text !== '' && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
