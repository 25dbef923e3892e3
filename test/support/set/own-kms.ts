import { randomBytes } from 'node:crypto'
import type { createKmsKeyFactory } from '../../../shared/adapters/aws/key-factory.ts'
import { alarmingTexts } from '../../../shared/api/alarming.ts'
import { ApiError } from '../../../shared/api/errors.ts'

type Kms = Parameters<typeof createKmsKeyFactory>[0]['kms']

/**
 * Imitates the KMS key of one cluster. `setEnabled` enables or disables the key for all users, like the key's
 * administrators.
 */
export function ownKms(): Kms & { setEnabled: (enabled: boolean) => void } {
  const own = new Map<string, Uint8Array>()
  let isEnabled = true
  const check = (): void => {
    if (!isEnabled) throw new ApiError('busy', alarmingTexts.keyring)
  }
  return {
    setEnabled: enabled => {
      isEnabled = enabled
    },
    newDataKey: async () => {
      check()
      const [dataKey, wrapped] = [randomBytes(32), randomBytes(16).toString('base64')]
      own.set(wrapped, dataKey)
      return { wrapped, dataKey }
    },
    unwrap: async ({ wrappedKey }) => {
      check()
      return own.get(wrappedKey) ?? Promise.reject(new Error('another key wrapped this'))
    },
  }
}
