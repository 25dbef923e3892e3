import type { Anew, MountCall, Outcome } from '../../api/call.ts'
import type { AccessEntry } from '../../model/access-entry.ts'
import type { TidySettings } from '../../model/tidy.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { enforce } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { loggedIn } from '../login/outcome.ts'
import { sweepTimes } from '../tidy/settings.ts'
import { decideEc2Login, type Ec2Decision, ec2ChecksAfter, ec2ChecksBefore } from './decide.ts'
import { askEc2, denialOf, gatherEc2, seeEc2 } from './gather.ts'
import { type Ec2Proof, provenDocument } from './proof.ts'

type LoginCall = MountCall<typeof loginFields>

/**
 * Login by signed identity document. It is judged by what is stored once EC2 has answered. Token, new entity and
 * access-list entry are committed together; a login that loses a race for the entry is judged again with the
 * winner's entry. @see docs/spec/login-ec2.md#order
 */
export async function loginEc2(call: LoginCall, proof: Ec2Proof): Promise<Outcome | Anew> {
  const document = await provenDocument(call, proof)
  const gathered = await gatherEc2(call, document, call.ports.entropy.uuid())
  const worthAsking = { ...gathered, facts: enforce(ec2ChecksBefore, gathered.facts) }
  const seen = await askEc2(call, worthAsking)
  if (call.asked()) return { anew: denialOf(call, gathered, seen) }
  const facts = enforce(ec2ChecksAfter, await seeEc2(call, worthAsking))
  const decision = decideEc2Login(facts, call.request.path)
  const entry = await entryChange(call, facts.entry, decision, facts.tidy)
  return loggedIn(call, decision.grant, gathered.alias, [entry])
}

async function entryChange(
  call: LoginCall,
  stored: Item<'access'> | undefined,
  { entry, nonce, grant }: Ec2Decision,
  tidy: TidySettings,
): Promise<Change> {
  const place = key('access', call.mount.accessor, grant.login.instanceId ?? '')
  const kept: AccessEntry =
    nonce === ''
      ? entry
      : { ...entry, clientNonce: await call.ports.cipher.encrypt(place, 'clientNonce', nonce) }
  return replace(place, stored, kept, sweepTimes(entry.expiresAt, tidy))
}
