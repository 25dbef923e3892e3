import type { AwsError } from '../wire/trouble.ts'
import type { Wording } from '../wire/wording.ts'

/** Status, code and message of an error in the words of one family of services. */
export function statusAndCode(
  error: AwsError,
  wording: Wording,
): { status: number; code: string; message: string } {
  if (typeof error.reason === 'object') return { ...error.reason, message: error.message }
  const { status, code, message = error.message } = wording[error.reason]
  return { status, code, message }
}
