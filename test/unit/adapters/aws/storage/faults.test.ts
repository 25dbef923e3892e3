import { describe, expect, test } from 'vitest'
import { toWriteFault, translateFaults } from '../../../../../shared/adapters/aws/storage/faults.ts'
import { ServiceError } from '../../../../../shared/adapters/aws/wire/service-error.ts'

const broken = (code: string, name = 'Error') => Object.assign(new Error('broken'), { code, name })
const service = (name: string, status: number) => new ServiceError(name, 'said', { status, said: {} })

/** What is left where the wire has repeated a call in vain. */
const passing: [what: string, error: Error][] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'].map(
    (code): [string, Error] => [code, broken(code)],
  ),
  ['no name is resolved', broken('EAI_AGAIN')],
  ['too late', broken('ETIMEDOUT', 'TimeoutError')],
  ['unreadable', service('UnreadableAnswer', 200)],
  ['broken inside', service('Whatever', 500)],
  ['not built', service('NotImplemented', 501)],
]

const lasting: [what: string, error: Error][] = [
  ['a connection that fails otherwise', broken('EWHATEVER')],
  ['what the engine does not understand', service('ValidationException', 400)],
  ['what it does not allow', service('AccessDeniedException', 400)],
]

describe.each([
  ['a read', (error: Error) => translateFaults(Promise.reject(error))],
  ['a write', async (error: Error) => toWriteFault(error)],
])('%s that did not come about', (_, asked) => {
  test.each(passing)('may be repeated: %s', async (_what, error) => {
    await expect(asked(error)).rejects.toMatchObject({ code: 'busy', retryAfter: 1 })
  })

  test.each(lasting)('is a fault: %s', async (_what, error) => {
    await expect(asked(error)).rejects.toBe(error)
  })
})
