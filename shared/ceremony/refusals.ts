import { ApiError } from '../api/errors.ts'

/*
 * Refusals of operation tokens, one row for each: what is wrong, and what to do next. In a file of its own, because
 * most functions need not load it.
 */

const refused = (wrong: string, next: string): ApiError =>
  new ApiError('invalid_request', `${wrong}; ${next}`)

export const operationTokenMissing = (): ApiError =>
  refused(
    'dr_operation_token is required',
    'generate one from recovery shares by POST sys/replication/dr/secondary/generate-operation-token/attempt, or give a batch token that was made on the primary and whose policies allow `update` on this path',
  )

export const operationTokenUnreadable = (): ApiError =>
  refused('dr_operation_token is not a string', 'give the token as a JSON string')

export const batchTokenStays = (): ApiError =>
  refused(
    'a batch token cannot be revoked',
    'it ends by its ttl; take `update` on this path from its policies on the primary to end it before',
  )
