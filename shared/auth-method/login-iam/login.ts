import { after, type Call, mountOf, type Outcome } from '../../api/call.ts'
import { ensureAlias } from '../../identity/ensure.ts'
import type { SignedRequest } from '../../identity-proof/signed-request.ts'
import { mintLogin } from '../../tokens/mint.ts'
import { tokenText } from '../../tokens/token.ts'
import { enforce } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { checksAfter, checksBefore, decideIamLogin } from './decide.ts'
import { askSts, gatherIam, seeIam } from './gather.ts'

/** A request that has been read; only STS can verify it. */
export interface IamProof {
  type: 'iam'
  request: SignedRequest
}

/** Login by signed caller-identity request. @see auth-behaviour 4.3 */
export async function loginIam(call: Call<typeof loginFields>, proof: IamProof): Promise<Outcome> {
  const { entropy, sealer } = call.ports
  const mount = mountOf(call)
  const caller = await askSts(call, proof.request)
  const gathered = await gatherIam(call, caller)
  enforce(checksBefore, gathered.facts)
  const facts = await seeIam(call, gathered)
  enforce(checksAfter, facts)
  const grant = decideIamLogin(facts, call.request.path)
  const { alias, changes } = ensureAlias(gathered.alias, {
    mount: mount.accessor,
    name: grant.alias.name,
    metadata: grant.alias.metadata,
    now: call.now,
    fresh: { entityId: entropy.uuid(), aliasId: entropy.uuid() },
  })
  const minted = await mintLogin(
    grant,
    { mount, alias, now: call.now, text: tokenText(entropy.bytes) },
    sealer,
  )
  return after([...changes, ...minted.changes], {
    kind: 'auth',
    auth: minted.auth,
    warnings: minted.warnings,
  })
}
