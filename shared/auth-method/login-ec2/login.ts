import type { MountCall, RequestPhases } from '../../api/call.ts'
import type { VerifiedProof } from '../../identity-proof/instance-document.ts'
import type { AccessEntry } from '../../model/access-entry.ts'
import type { TidySettings } from '../../model/tidy.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { enforceChecks, type WithPassedChecks } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import type { InstanceLookUp } from '../login/instance.ts'
import { commitLogin } from '../login/outcome.ts'
import { tidyTimes } from '../tidy/settings.ts'
import { decideEc2Login, type Ec2Decision, ec2ChecksAfterLookUp, ec2ChecksBeforeLookUp } from './decide.ts'
import type { Ec2Facts } from './facts.ts'
import { addInstanceFacts, type GatheredEc2Facts, gatherEc2Facts, lookUpInstance } from './gather.ts'
import { type Ec2Proof, verifyDocument } from './proof.ts'

type LoginCall = MountCall<typeof loginFields>

/**
 * The phases of a login by signed identity document. One commit writes the token, a new entity and the access-list
 * entry. A login that loses a race for the entry is decided again with the winner's entry.
 * @see docs/spec/login-ec2.md#order
 */
export const ec2LoginPhases: RequestPhases<
  LoginCall,
  VerifiedProof,
  GatheredEc2Facts<WithPassedChecks<Ec2Facts>>,
  InstanceLookUp
> = {
  rereads: true,
  identify: call => verifyDocument(call, call.prepared as Ec2Proof),
  gather: async (call, document) => {
    const gathered = await gatherEc2Facts(call, document, call.ports.entropy.uuid())
    return { ...gathered, facts: enforceChecks(ec2ChecksBeforeLookUp, gathered.facts) }
  },
  ask: lookUpInstance,
  decide: async (call, checked, seen) => {
    const facts = enforceChecks(ec2ChecksAfterLookUp, await addInstanceFacts(call, checked, seen))
    const decision = decideEc2Login(facts, call.request.path)
    const entry = await entryChange(call, facts.entry, decision, facts.tidy)
    return commitLogin(call, decision.grant, checked.alias, [entry])
  },
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
  return replaceItem(place, stored, kept, tidyTimes(entry.expiresAt, tidy))
}
