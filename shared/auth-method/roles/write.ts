import { after, type MountCall, nothing, type Outcome } from '../../api/call.ts'
import { ApiError, invalid } from '../../api/errors.ts'
import { placeOf, subjectOf } from '../../api/subject.ts'
import { isLegacyEc2, maxTtlOf } from '../../model/mount.ts'
import type { Role } from '../../model/role.ts'
import { replace } from '../../storage/changes.ts'
import { type Key, key } from '../../storage/kinds.ts'
import { type Entity, iamArn, parseEntity } from '../../values/arn.ts'
import { defined } from '../../values/defined.ts'
import { iamRegionOf } from '../../values/region.ts'
import type { Encrypted } from '../../values/secret.ts'
import { type AccountItems, awsTarget, nameOfQuestion } from '../config/accounts.ts'
import type { roleFields } from './fields.ts'
import { planRole } from './plan.ts'

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
  const ids = plan.resolve.length > 0 ? await resolveAll(call, plan.resolve) : undefined
  const role: Role = ids ? { ...plan.role, boundIamPrincipalIds: ids } : plan.role
  return after([replace(place, stored, role)], nothing(plan.warnings))
}

const newTagKey = (call: MountCall<typeof roleFields>, place: Key<'role'>): Promise<Encrypted> =>
  call.ports.cipher.encrypt(place, 'hmacKey', call.ports.entropy.uuid())

/** The unique IDs of principals, in their order. @see docs/spec/roles.md#unique-ids */
async function resolveAll(call: MountCall<typeof roleFields>, arns: readonly string[]): Promise<string[]> {
  const accessor = call.mount.accessor
  const entities = arns.map(arn => resolvable(arn))
  const accounts = [...new Set(entities.map(entity => entity.account))]
  const [client, ...associations] = await call.ports.store.read([
    key('client-config', accessor),
    ...accounts.map(account => key('sts-role', accessor, account)),
  ])
  const ids: string[] = []
  for (const entity of entities) {
    const sts = associations[accounts.indexOf(entity.account)]
    ids.push(await resolve(call, entity, { client, sts }))
  }
  return ids
}

function resolvable(arn: string): Entity {
  const entity = parseEntity(arn)
  if (!entity || entity.type === 'assumed-role') {
    throw invalid(`cannot resolve unique ID of ${arn}: not the ARN of a user, a role or an instance profile`)
  }
  return entity
}

async function resolve(
  call: MountCall<typeof roleFields>,
  entity: Entity,
  items: AccountItems,
): Promise<string> {
  const { cipher, principals } = call.ports
  const arn = iamArn(entity)
  const { account } = entity
  const region = iamRegionOf(entity.partition)
  const question = nameOfQuestion({ account, region }, items, ['principal', arn])
  const found = await call
    .once(question, async () => {
      const target = await awsTarget(account, region, items, cipher)
      return principals.find(target, entity, call.request.deadline)
    })
    .catch(error => {
      throw error instanceof ApiError && error.code === 'invalid_request'
        ? invalid(`cannot resolve unique ID of ${arn}: ${error.message}`, { cause: error })
        : error
    })
  if (!found) throw invalid(`cannot resolve unique ID of ${arn}: there is no such ${entity.type}`)
  if (found.arn !== arn)
    throw invalid(`cannot resolve unique ID of ${arn}: its path differs from the one in IAM`)
  return found.uniqueId
}
