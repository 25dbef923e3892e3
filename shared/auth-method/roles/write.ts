import { after, type MountCall, nothing, type Outcome } from '../../api/call.ts'
import { placeOf, subjectOf } from '../../api/subject.ts'
import { isLegacyEc2, maxTtlOf } from '../../model/mount.ts'
import type { Role } from '../../model/role.ts'
import { replace } from '../../storage/changes.ts'
import type { Key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import type { Encrypted } from '../../values/secret.ts'
import type { roleFields } from './fields.ts'
import { planRole } from './plan.ts'
import { resolvePrincipals } from './resolve.ts'

/** POST role/:role. @see docs/spec/roles.md#write */
export async function writeRole(call: MountCall<typeof roleFields>): Promise<Outcome> {
  const mount = call.mount
  const stored = subjectOf(call, 'role')
  const place = placeOf(call, 'role')
  const plan = planRole(
    defined({
      stored: stored?.data,
      given: call.given,
      defaultAuthType: isLegacyEc2(mount) ? 'ec2' : 'iam',
      mountMax: maxTtlOf(mount),
      fresh: {
        roleId: call.ports.entropy.uuid(),
        hmacKey: stored?.data.hmacKey ?? (await newTagKey(call, place)),
      },
    }),
  )
  if (plan.resolve.length === 0) return after([replace(place, stored, plan.role)], nothing(plan.warnings))
  const { ids, changes } = await resolvePrincipals(call, plan.resolve)
  const role: Role = { ...plan.role, boundIamPrincipalIds: ids }
  return after([replace(place, stored, role), ...changes], nothing(plan.warnings))
}

const newTagKey = (call: MountCall<typeof roleFields>, place: Key<'role'>): Promise<Encrypted> =>
  call.ports.cipher.encrypt(place, 'hmacKey', call.ports.entropy.uuid())
