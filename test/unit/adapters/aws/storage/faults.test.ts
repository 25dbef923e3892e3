import { describe, expect, test } from 'vitest'
import { toWriteFault, translateDynamoErrors } from '../../../../../shared/adapters/aws/storage/faults.ts'
import { AwsServiceError } from '../../../../../shared/adapters/aws/wire/service-error.ts'

const broken = (code: string, name = 'Error') => Object.assign(new Error('broken'), { code, name })
const service = (name: string, status: number) => new AwsServiceError(name, 'said', { status, said: {} })

/** Faults that remain after the client's retries. */
const passing: [what: string, error: Error][] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'].map(
    (code): [string, Error] => [code, broken(code)],
  ),
  ['a name that is not resolved', broken('EAI_AGAIN')],
  ['too late', broken('ETIMEDOUT', 'TimeoutError')],
  ['unreadable', service('UnreadableAnswer', 200)],
  ['broken inside', service('Whatever', 500)],
  ['not built', service('NotImplemented', 501)],
]

const lasting: [what: string, error: Error][] = [
  ['a connection with another fault', broken('EWHATEVER')],
  ['a request that DynamoDB does not understand', service('ValidationException', 400)],
  ['a request that DynamoDB does not allow', service('AccessDeniedException', 400)],
]

describe.each([
  ['a read', (error: Error) => translateDynamoErrors(Promise.reject(error))],
  ['a write', async (error: Error) => toWriteFault(error)],
])('%s that failed', (_, asked) => {
  test.each(passing)('the failure throws busy: %s', async (_what, error) => {
    await expect(asked(error)).rejects.toMatchObject({ code: 'busy', retryAfter: 1 })
  })

  test.each(lasting)('the failure throws its original error: %s', async (_what, error) => {
    await expect(asked(error)).rejects.toBe(error)
  })
})
