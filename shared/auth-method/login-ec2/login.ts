import { after, type Call, mountOf, type Outcome } from '../../api/call.ts'
import { ensureAlias } from '../../identity/ensure.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { mintLogin } from '../../tokens/mint.ts'
import { tokenText } from '../../tokens/token.ts'
import type { AccessEntry } from '../access-list/entry.ts'
import { enforce } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { sweepTimes, type TidySettings } from '../tidy/settings.ts'
import { checksAfter, checksBefore, decideEc2Login, type Ec2Decision } from './decide.ts'
import { gatherEc2, seeEc2 } from './gather.ts'
import { type Ec2Proof, proveWithRegistered } from './proof.ts'

type LoginCall = Call<typeof loginFields>

/**
 * Login by signed identity document. Token, entity and access-list entry are committed together; a login that
 * loses a race for the entry is judged again with the winner's entry. @see auth-behaviour 4.2
 */
export async function loginEc2(call: LoginCall, proof: Ec2Proof): Promise<Outcome> {
  const { entropy, store, deployment, sealer } = call.ports
  const mount = mountOf(call)
  await call.once('proof', () =>
    proveWithRegistered(proof, store, mount.accessor, deployment.legacySignatures),
  )
  const gathered = await gatherEc2(call, proof, entropy.uuid())
  enforce(checksBefore, gathered.facts)
  const facts = await seeEc2(call, gathered)
  enforce(checksAfter, facts)
  const decision = decideEc2Login(facts, call.request.path)
  const { alias, changes } = ensureAlias(gathered.alias, {
    mount: mount.accessor,
    name: decision.grant.alias.name,
    metadata: decision.grant.alias.metadata,
    now: call.now,
    fresh: { entityId: entropy.uuid(), aliasId: entropy.uuid() },
  })
  const minted = await mintLogin(
    decision.grant,
    { mount, alias, now: call.now, text: tokenText(entropy.bytes) },
    sealer,
  )
  const entry = await entryChange(call, facts.entry, decision, facts.tidy)
  return after([entry, ...changes, ...minted.changes], {
    kind: 'auth',
    auth: minted.auth,
    warnings: minted.warnings,
  })
}

async function entryChange(
  call: LoginCall,
  stored: Item<'access'> | undefined,
  { entry, nonce, grant }: Ec2Decision,
  tidy: TidySettings,
): Promise<Change> {
  const place = key('access', mountOf(call).accessor, grant.login.instanceId ?? '')
  const kept: AccessEntry =
    nonce === ''
      ? entry
      : { ...entry, clientNonce: await call.ports.sealer.seal(place, 'clientNonce', nonce) }
  return replace(place, stored, kept, sweepTimes(entry.expiresAt, tidy))
}
