import { after, type MountCall, type Outcome } from '../../api/call.ts'
import { ensureAlias } from '../../identity/ensure.ts'
import { tokenText } from '../../model/token.ts'
import type { Change } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import type { Grant } from '../../tokens/grant.ts'
import { mintLogin } from '../../tokens/mint.ts'

/**
 * What a login that passed every check comes to. Token, entity and `more` are committed together. Metadata of an
 * alias that many logins share are written afterwards, and only if nothing is in the way: the next login
 * brings them again.
 *
 * @param stored the alias that the grant names, if it was there
 */
export async function loggedIn(
  call: MountCall,
  grant: Grant,
  stored: Item<'alias'> | undefined,
  more: readonly Change[] = [],
): Promise<Outcome> {
  const { entropy, cipher, store } = call.ports
  const mount = call.mount
  const fresh = { entityId: entropy.uuid(), aliasId: entropy.uuid() }
  const sighting = { ...grant.alias, mount: mount.accessor, now: call.now, fresh }
  const { alias, created, metadata } = ensureAlias(stored, sighting)
  const text = tokenText(entropy.bytes)
  // of the judgement behind the provider's answer, by whose time the access-list entry is written too
  const facts = { mount, alias, now: call.now, text }
  const { auth, changes, warnings } = await mintLogin(grant, facts, cipher)
  const outcome = after([...more, ...created, ...changes], { kind: 'auth', auth, warnings })
  if (!metadata) return outcome
  const write = async () => void (await store.commit([metadata], call.cluster, { tries: 1 }))
  return { ...outcome, afterwards: write }
}
