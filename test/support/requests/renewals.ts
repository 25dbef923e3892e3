import { expect } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { api } from '../service/cluster.ts'
import { lookUp } from './tokens.ts'

/** Renews the token of a login, as the root token's holder. */
export const renew = (auth: ResponseAuth, given = {}) =>
  api('POST', '/auth/token/renew', { token: auth.client_token, ...given })

/** Checks that a role's rule refuses the renewal and that the token does not change. */
export async function refused(auth: ResponseAuth): Promise<void> {
  const before = await lookUp(auth.client_token)
  const reply = await renew(auth, { increment: '9h' })
  expect([reply.status, reply.body.errors]).toEqual([403, ['permission denied']])
  expect(await lookUp(auth.client_token)).toEqual({ ...before, ttl: expect.any(Number) })
}
