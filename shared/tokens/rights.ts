import type { Acl } from '../model/acl.ts'
import { isRootToken, type Token } from '../model/token.ts'
import { ROOT_POLICY_NAME, sanitisePolicies } from '../policies/names.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { areTokenAncestorsAlive, type TokenDependencies } from './descendants.ts'
import { hasEndedWithInstance, instanceKeysOf } from './instance-mark.ts'

/** The policy parser, loaded at first use, because logins do not need it. */
let policies: Promise<typeof import('../policies/load.ts')> | undefined

/** The rights of a token, and the item that was read together with the token's policies. */
export interface TokenRights {
  rights: Acl
  /** policies of the entity, not stored on the token */
  identityPolicies: readonly string[]
  along: Item | undefined
}

/** Reasons why a valid token has no rights. */
export type TokenRightsFault = 'entity-gone' | 'entity-disabled' | 'instance-ended' | 'parent-gone'

/**
 * Loads the rights of a valid token from its own and its entity's policies. A token whose entity, ancestor
 * or instance is gone has no rights.
 * @param along key of one more item to read with the policies
 */
export async function loadTokenRights(
  token: Readonly<Token>,
  dependencies: TokenDependencies,
  along?: Key | undefined,
): Promise<Result<TokenRights, TokenRightsFault>> {
  const { store } = dependencies.ports
  const policyKeys = isRootToken(token) ? [] : token.policies.map(name => key('policy', name))
  const aliasKeys = token.entity ? [key('alias', token.entity.mount, token.entity.alias)] : []
  const instanceKeys = instanceKeysOf(token)
  const keys = [...policyKeys, ...aliasKeys, ...instanceKeys, ...(along ? [along] : [])]
  const items: readonly (Item | undefined)[] = keys.length > 0 ? await store.read(keys) : []
  const alias = items[policyKeys.length] as Item<'alias'> | undefined
  const entity = aliasKeys.length > 0 ? alias?.data : undefined
  if (token.entity && entity?.entityId !== token.entity.id) return failed('entity-gone')
  if (entity?.disabled) return failed('entity-disabled')
  // descendants have the mark of their ancestors, so this check covers them too
  const record = items[policyKeys.length + aliasKeys.length] as Item<'instance'> | undefined
  if (hasEndedWithInstance(token, record)) return failed('instance-ended')
  if (!(await areTokenAncestorsAlive(token, dependencies))) return failed('parent-gone')
  const identityPolicies = sanitisePolicies(entity?.policies ?? []).filter(name => name !== ROOT_POLICY_NAME)
  const more = identityPolicies.filter(name => !token.policies.includes(name))
  const stored = [
    ...items.slice(0, policyKeys.length),
    ...(more.length > 0 ? await store.read(more.map(name => key('policy', name))) : []),
  ]
  policies ??= import('../policies/load.ts')
  const { compileAcl } = await policies
  return ok({
    rights: compileAcl([...token.policies, ...more], stored as (Item<'policy'> | undefined)[]),
    identityPolicies,
    along: along ? items.at(-1) : undefined,
  })
}
