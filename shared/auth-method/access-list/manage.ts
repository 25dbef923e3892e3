import { answer, type Call, data, type Outcome } from '../../api/call.ts'
import { storedOf } from '../../api/subject.ts'
import { printTime } from '../../values/time.ts'

/** GET identity-accesslist/:instance_id. The nonce is shown. @see docs/spec/login-ec2.md#access-list */
export async function readAccess(call: Call): Promise<Outcome> {
  const stored = storedOf(call, 'access')
  const { clientNonce, ...entry } = stored.data
  const nonce = clientNonce
    ? (await call.ports.cipher.decrypt(stored, 'clientNonce', clientNonce)).reveal()
    : ''
  return answer(
    data({
      client_nonce: nonce,
      creation_time: printTime(entry.createdAt),
      disallow_reauthentication: entry.disallowReauthentication,
      expiration_time: printTime(entry.expiresAt),
      last_updated_time: printTime(entry.updatedAt),
      pending_time: entry.pendingTime,
      role: entry.role,
    }),
  )
}
