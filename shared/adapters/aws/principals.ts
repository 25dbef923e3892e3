import type { AwsTarget, Principal, Principals } from '../../ports.ts'
import type { XmlElement } from '../../values/xml.ts'
import type { Provider } from './provider.ts'
import type { CallSettings } from './provider-settings.ts'
import { elementAt, listAt, queryCalls, textAt } from './wire/query.ts'

const UNKNOWN = ['NoSuchEntity', 'NoSuchEntityException']

function absent(error: unknown): undefined {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return undefined
  throw error
}

/** How each type of entity is looked up: what it is called in IAM. */
const lookups = { user: 'User', role: 'Role', 'instance-profile': 'InstanceProfile' } as const

type Entity = (typeof lookups)[keyof typeof lookups]

/** @throws Error when the answer holds no entity: for one that does not exist, IAM answers with an error */
function principalIn(found: XmlElement, type: Entity): Principal {
  const entity = elementAt(found, type)
  const arn = entity && textAt(entity, 'Arn')
  const uniqueId = entity && textAt(entity, `${type}Id`)
  if (!arn || !uniqueId) throw new Error('IAM answered without an entity')
  return { arn, uniqueId }
}

const clientOf = (settings: CallSettings) => queryCalls('iam', settings)

/** IAM, as far as principals are looked up there. */
export function iamPrincipals(provider: Provider): Principals {
  /** What an answer of IAM says of an entity; undefined when there is none of that name. */
  const ask = <T>(
    target: AwsTarget,
    deadline: number,
    [type, name]: [Entity, string],
    read: (found: XmlElement) => T,
  ): Promise<T | undefined> =>
    provider.call('iam', target, deadline, clientOf, (call, ms) =>
      call(`Get${type}`, [[`${type}Name`, name]], ms).then(read, absent),
    )
  return {
    find: async (target, { type, name }, deadline) =>
      type === 'assumed-role'
        ? undefined
        : ask(target, deadline, [lookups[type], name], found => principalIn(found, lookups[type])),
    profile: (target, name, deadline) => {
      const type = lookups['instance-profile']
      return ask(target, deadline, [type, name], found => {
        const principal = principalIn(found, type)
        const roles = listAt(elementAt(found, type) ?? found, 'Roles', 'member')
        return { ...principal, roleArns: roles.map(role => textAt(role, 'Arn') ?? '') }
      })
    },
  }
}
