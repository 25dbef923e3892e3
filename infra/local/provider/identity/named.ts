import type { ImitatedAws } from '../state/imitated-aws.ts'
import { awsError } from '../wire/errors.ts'

/** The name of a user, role or instance profile. */
interface Name {
  account: string
  partition: string
  path: string
  name: string
}

/** Fields that users, roles and instance profiles have in common. */
interface Named extends Name {
  arn: string
  /** Milliseconds since 1970. */
  createdAt: number
}

/**
 * Creates an entity, or updates the given fields of an existing entity.
 * @param type type of the entity in its ARN
 * @param fresh initial values, which an existing entity keeps
 */
export function putNamedEntity<Given extends Name, Fresh>(
  aws: ImitatedAws,
  all: Map<string, Given & Fresh & Named>,
  type: 'user' | 'role' | 'instance-profile',
  given: Given,
  fresh: Fresh,
): Given & Fresh & Named {
  const { account, partition, path, name } = given
  const key = `${account}/${name}`
  const arn = `arn:${partition}:iam::${account}:${type}${path}${name}`
  const entity = { ...(all.get(key) ?? { ...fresh, createdAt: aws.now() }), ...given, arn }
  all.set(key, entity)
  aws.changed()
  return entity
}

/**
 * Finds a user, role or instance profile.
 * @param what description of the entity in the error
 * @throws NoSuchEntity 404
 */
export function findNamedEntity<Entity>(
  all: ReadonlyMap<string, Entity>,
  what: string,
  account: string,
  name: string,
): Entity {
  const entity = all.get(`${account}/${name}`)
  if (entity === undefined) throw noSuchEntityError(`${what} ${name} cannot be found.`)
  return entity
}

/** Creates IAM's error for a missing entity. */
export const noSuchEntityError = (message: string) => awsError(404, 'NoSuchEntity', message)
