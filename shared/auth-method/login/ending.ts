import type { MountCall } from '../../api/call.ts'
import { createRefusal } from '../../api/errors.ts'
import type { Token } from '../../model/token.ts'
import type { Change } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import { instanceKey, keepRecord } from '../../tokens/instance-mark.ts'
import { enforceChecks, type LoginCheck } from './checks.ts'
import type { GrantedInstance, LoginGrant } from './grant.ts'

/** The facts for the check of a role with `revoke_on_termination`. */
export interface EndingFacts {
  instance: GrantedInstance | 'unknown'
  /** the mount's record of the instance; absent: the instance has not logged in at a role with `revoke_on_termination` */
  record: Item<'instance'> | undefined
}

/** The check of a role whose tokens end with their instance. @see docs/spec/roles.md#ends-of-instances */
export const endingCheck: LoginCheck<EndingFacts> = {
  name: 'revoke_on_termination',
  seen: ({ instance, record }) =>
    instance === 'unknown'
      ? null
      : { instance_id: instance.id, has_ended: record?.data.endedAt !== undefined },
  wanted: () => 'an instance that has not ended',
  refuse: ({ instance, record }) => {
    if (instance === 'unknown')
      return createRefusal(
        'no-instance',
        'the role needs an instance, and the login does not name its instance',
      )
    return record?.data.endedAt === undefined
      ? undefined
      : createRefusal('instance-ended', 'the instance has ended')
  },
}

/** Reads the record of a login's instance. */
export async function readEndingFacts(
  { mount, fetched }: Pick<MountCall, 'mount' | 'fetched'>,
  instance: GrantedInstance | 'unknown',
): Promise<EndingFacts> {
  if (instance === 'unknown') return { instance, record: undefined }
  const [record] = await fetched.read([instanceKey({ mount: mount.accessor, ...instance })])
  return { instance, record }
}

/**
 * Checks that the instance of a login has not ended.
 * @returns a function that builds the changes by which the instance is known until the login's token expires
 * @throws ApiError
 */
export async function requireLivingInstance(
  call: MountCall,
  instance: NonNullable<LoginGrant['endsWith']>,
): Promise<(token: Token) => Change[]> {
  const { record } = enforceChecks([endingCheck], await readEndingFacts(call, instance))
  if (instance === 'unknown') throw new Error('the check admitted a login without an instance')
  const place = instanceKey({ mount: call.mount.accessor, ...instance })
  return token => keepRecord(place, record, { region: instance.region, loggedInAt: call.now }, token)
}
