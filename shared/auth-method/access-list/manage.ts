import { after, answer, type Call, data, keys, mountOf, type Outcome, subjectOf } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { type listFields, pageOf } from '../../api/listing.ts'
import { erase } from '../../storage/changes.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { printTime } from '../../values/time.ts'

/** GET identity-accesslist/:instance_id. The nonce is shown. @see docs/spec/login-ec2.md#access-list */
export async function readAccess(call: Call): Promise<Outcome> {
  const stored = subjectOf(call, 'access')
  if (!stored) throw new ApiError('not_found')
  const { clientNonce, ...entry } = stored.data
  const nonce = clientNonce ? (await call.ports.sealer.open(stored, 'clientNonce', clientNonce)).reveal() : ''
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

/** LIST identity-accesslist: expired entries count too. */
export async function listAccess(call: Call<typeof listFields>): Promise<Outcome> {
  const found = await call.ports.store.list(partitions('access', mountOf(call).accessor), pageOf(call.given))
  return answer(keys(found.map(item => item.sk)))
}

/** DELETE identity-accesslist/:instance_id: the next login of the instance is a first one again. */
export const deleteAccess = (call: Call): Outcome =>
  after([erase(key('access', mountOf(call).accessor, call.params['instance_id'] ?? ''))])
