import type { ImitatedAws } from '../state/imitated-aws.ts'
import { awsError } from '../wire/errors.ts'

/** What users, roles and instance profiles are named by. */
interface Name {
  account: string
  partition: string
  path: string
  name: string
}

/** What all of them have. */
interface Named extends Name {
  arn: string
  /** Milliseconds since 1970. */
  createdAt: number
}

/**
 * Creates an entity, or changes what is given of an existing one.
 *
 * @param type as its ARN has it
 * @param fresh what a new one begins with, and an existing one keeps
 */
export function putNamed<Given extends Name, Fresh>(
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
 * Finds an entity.
 *
 * @param what how the refusal names it
 * @throws NoSuchEntity 404
 */
export function findNamed<Entity>(
  all: ReadonlyMap<string, Entity>,
  what: string,
  account: string,
  name: string,
): Entity {
  const entity = all.get(`${account}/${name}`)
  if (entity === undefined) throw noSuch(`${what} ${name} cannot be found.`)
  return entity
}

/** The error IAM gives for whatever is not there. */
export const noSuch = (message: string) => awsError(404, 'NoSuchEntity', message)
