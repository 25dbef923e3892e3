import { randomBytes } from 'node:crypto'
import type { kmsGenesis } from '../../shared/adapters/aws/cipher.ts'

type Kms = Parameters<typeof kmsGenesis>[0]['kms']

/** A KMS key of one cluster alone. */
export function ownKms(): Kms {
  const own = new Map<string, Uint8Array>()
  return {
    newDataKey: async () => {
      const [dataKey, wrapped] = [randomBytes(32), randomBytes(16).toString('base64')]
      own.set(wrapped, dataKey)
      return { wrapped, dataKey }
    },
    unwrap: async ({ wrapped }) => own.get(wrapped) ?? Promise.reject(new Error('another key wrapped this')),
  }
}
