import { randomBytes } from 'node:crypto'

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Prefixes of IAM identifiers, and the number of characters that follow ("IAM identifiers", IAM User Guide). */
const lengths = { AIDA: 17, AROA: 17, AIPA: 17, AKIA: 16, ASIA: 16 } as const

/** Creates an IAM identifier of a user, role, instance profile, or of a long-term or temporary access key. */
export function randomIamId(prefix: keyof typeof lengths): string {
  const random = randomBytes(lengths[prefix])
  return prefix + Array.from(random, byte => base32[byte & 31]).join('')
}

/** Creates an EC2 identifier such as `i-0123456789abcdef0`. */
export const randomEc2Id = (prefix: string): string => `${prefix}-0${randomBytes(8).toString('hex')}`

/** Creates a secret access key: 40 characters of base64. */
export const randomSecretKey = (): string => randomBytes(30).toString('base64')
