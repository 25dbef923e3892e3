import { alarming } from '../../api/alarming.ts'
import { ApiError } from '../../api/errors.ts'
import type { Keyring } from '../../model/cluster.ts'
import type { Meter } from '../../ports.ts'
import { ownCredentials, type WireSettings, wireSettings } from './environment.ts'
import { parseJsonAnswer, readResult } from './wire/json.ts'
import { ATTEMPT_MS, CALL_MS, FIRST_RETRY_PAUSE_MS, MOST_ATTEMPTS } from './wire/limits.ts'
import { createRetry } from './wire/retry.ts'
import { createSignedPost, type SignedPost } from './wire/signed-posts.ts'

/** Returns the encryption context that a wrapped data key is bound to. */
const contextOf = (keyring: string) => ({ keyring })

const WHY =
  'KMS does not decrypt with the key of its data stack; check that the key is enabled and that its policy allows kms:Decrypt'

/** Throws `busy`. A KMS error is never the client's fault, and may pass. */
function throwKmsBusy(cause: unknown): never {
  throw new ApiError('busy', `${alarming.keyring}: ${WHY}`, { retryAfter: 5, cause })
}

/**
 * The two KMS calls that a keyring needs.
 * @throws ApiError `busy`
 */
export interface Kms {
  unwrap(keyring: Pick<Keyring, 'id' | 'wrappedKey'>): Promise<Uint8Array>
  /** creates a data key for a keyring; returns it in clear and wrapped */
  newDataKey(keyring: string, keyArn: string): Promise<{ wrapped: string; dataKey: Uint8Array }>
}

/** Calls KMS. The endpoint is determined at the first call. */
export function lazyKms(meter: Meter): Kms {
  let posts: SignedPost | undefined
  const insist = createRetry({ most: MOST_ATTEMPTS, pauseMs: FIRST_RETRY_PAUSE_MS })

  async function call(action: string, input: object): Promise<Record<string, unknown>> {
    meter.count('kms')
    posts ??= postsTo(wireSettings())
    const send = posts
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `TrentService.${action}`,
    }
    const body = JSON.stringify(input)
    const attempt = async (left: number) =>
      readResult(parseJsonAnswer(await send(headers, body, Math.min(ATTEMPT_MS, Math.max(1, left)))))
    return insist(attempt, CALL_MS)
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

const postsTo = (settings: WireSettings): SignedPost =>
  createSignedPost({ service: 'kms', settings, credentials: ownCredentials })

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Parses base64 in an answer; undefined for anything else. */
const parseBytes = (text: unknown): Buffer | undefined =>
  typeof text === 'string' && text !== '' && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
