import type { AskAws, AwsQuestion, MountCall } from '../../api/call.ts'
import { ApiError, invalidRequestError } from '../../api/errors.ts'
import type { IamPrincipal } from '../../ports.ts'
import { type Change, removeItemUnlessChanged, replaceItem } from '../../storage/changes.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { type IamEntity, iamArn, parseIamEntity } from '../../values/arn.ts'
import { defined } from '../../values/defined.ts'
import { iamRegionOf } from '../../values/region.ts'
import { sha256 } from '../../values/secret.ts'
import { type AwsAccountItems, createAccountQuestion } from '../config/accounts.ts'
import type { roleFields } from './fields.ts'

type RoleCall = MountCall<typeof roleFields>

/** Seconds for which the unique IDs of an unfinished write are cached for its retry. */
const KEPT_SECONDS = 600

/** The unique IDs of all principals of a write, in order. */
export interface ResolvedIds {
  ids: readonly string[]
  /**
   * `changes` to commit with the role: they delete the cached IDs of this write, so that a later write asks IAM
   * again
   */
  changes: readonly Change[]
}

/**
 * Resolves principals to their unique IDs. If AWS is busy or fails, the IDs resolved so far are stored for a retry of the same
 * request, because IAM may allow fewer look-ups at a time than a role has principals.
 *
 * @throws ApiError `invalid_request` for a principal that cannot be resolved; `busy` or `provider_failed` with the
 * number of principals resolved so far
 * @see docs/spec/roles.md#unique-ids
 */
export async function resolvePrincipals(
  call: RoleCall,
  arns: readonly string[],
  ask: AskAws,
): Promise<ResolvedIds> {
  const accessor = call.mount.accessor
  const entities = arns.map(arn => resolvable(arn))
  const accounts = [...new Set(entities.map(entity => entity.account))]
  const place = placeOfKept(call)
  const [kept, client, ...associations] = await call.ports.store.read([
    place,
    key('client-config', accessor),
    ...accounts.map(account => key('sts-role', accessor, account)),
  ])
  const resolved = new Map<string, string>()
  try {
    for (const entity of entities) {
      const items = { client, sts: associations[accounts.indexOf(entity.account)] }
      const question = createPrincipalQuestion(call, entity, items)
      const name = hashOf(question.key)
      resolved.set(name, kept?.data.ids[name] ?? (await resolve(entity, question, ask)))
    }
  } catch (error) {
    throw await unfinished(call, error, { place, cached: kept, resolved, total: entities.length })
  }
  return { ids: [...resolved.values()], changes: kept ? [removeItemUnlessChanged(kept)] : [] }
}

const hashOf = (text: string): string => sha256(text).toString('base64url')

/** Returns the key of an unfinished write's unique IDs. Only the same body for the same role has the same key. */
const placeOfKept = ({ mount, pathParameters, parameters }: RoleCall): Key<'resolved-principals'> =>
  key('resolved-principals', mount.accessor, hashOf(JSON.stringify([pathParameters['role'], parameters])))

interface Unfinished {
  place: Key<'resolved-principals'>
  cached: Item<'resolved-principals'> | undefined
  resolved: ReadonlyMap<string, string>
  /** number of principals of the write */
  total: number
}

/** Builds the error of a write that could not resolve all principals. Stores the IDs resolved so far if a retry may succeed. */
async function unfinished(
  { ports, cluster, now }: RoleCall,
  error: unknown,
  { place, cached, resolved, total }: Unfinished,
): Promise<unknown> {
  const mayPass = error instanceof ApiError && ['busy', 'provider_failed'].includes(error.code)
  if (!mayPass || resolved.size === 0) return error
  const expires = Math.ceil(now / 1000) + KEPT_SECONDS
  const change = replaceItem(place, cached, { ids: Object.fromEntries(resolved) }, { expires })
  // a concurrent write with the same body may have stored more IDs or finished
  const stored = await ports.store.commit([change], cluster).catch(() => undefined)
  if (!stored) return error
  const { code, message, retryAfter, reason } = error
  const progress = `${resolved.size} of ${total} resolved; repeat this request within ten minutes to resolve the rest`
  return new ApiError(
    code,
    `bound_iam_principal_arn: ${message}: ${progress}`,
    defined({ cause: error, retryAfter, reason }),
  )
}

function resolvable(arn: string): IamEntity {
  const entity = parseIamEntity(arn)
  if (!entity || entity.type === 'assumed-role') {
    throw invalidRequestError(
      `cannot resolve unique ID of ${arn}: not the ARN of a user, a role or an instance profile`,
    )
  }
  return entity
}

/** Builds the question to IAM about a user, a role or an instance profile. */
export const createPrincipalQuestion = (
  call: Pick<MountCall, 'ports' | 'request'>,
  entity: IamEntity,
  items: AwsAccountItems,
): AwsQuestion<IamPrincipal | undefined> => {
  const { cipher, principals } = call.ports
  const access = { account: entity.account, region: iamRegionOf(entity.partition), ...items }
  return createAccountQuestion(access, ['principal', iamArn(entity)], cipher, target =>
    principals.find(target, entity, call.request.deadline),
  )
}

async function resolve(
  entity: IamEntity,
  question: AwsQuestion<IamPrincipal | undefined>,
  ask: AskAws,
): Promise<string> {
  const arn = iamArn(entity)
  const found = await ask(question).catch(error => {
    throw error instanceof ApiError && error.code === 'invalid_request'
      ? invalidRequestError(`cannot resolve unique ID of ${arn}: ${error.message}`, { cause: error })
      : error
  })
  if (!found) throw invalidRequestError(`cannot resolve unique ID of ${arn}: there is no such ${entity.type}`)
  if (found.arn !== arn)
    throw invalidRequestError(
      `cannot resolve unique ID of ${arn}: the path in the ARN differs from the path in IAM`,
    )
  return found.uniqueId
}
