import type { ErrorTable } from '../wire/error-tables.ts'
import type { AwsError } from '../wire/errors.ts'

/** Status, code and message of an error in the words of one family of services. */
export function statusAndCode(
  error: AwsError,
  errors: ErrorTable,
): { status: number; code: string; message: string } {
  if (typeof error.reason === 'object') return { ...error.reason, message: error.message }
  const { status, code, message = error.message } = errors[error.reason]
  return { status, code, message }
}
