import type { Anew, MountCall, Outcome } from '../../api/call.ts'
import type { SignedRequest } from '../../identity-proof/signed-request.ts'
import { enforce } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { loggedIn } from '../login/outcome.ts'
import { decideIamLogin, iamChecksAfter, iamChecksBefore } from './decide.ts'
import { askSts, gatherIam, keysOfCaller, seeIam } from './gather.ts'

/** A request that has been read; only STS can verify it. */
export interface IamProof {
  type: 'iam'
  request: SignedRequest
}

/**
 * Login by signed caller-identity request. Before STS has answered only the configuration that shapes the call is
 * read; the login is judged by what is stored afterwards. @see docs/spec/login-iam.md#judged-twice
 */
export async function loginIam(
  call: MountCall<typeof loginFields>,
  proof: IamProof,
): Promise<Outcome | Anew> {
  const caller = await askSts(call, proof.request)
  if (call.asked()) return { anew: keysOfCaller(call, caller) }
  const gathered = await gatherIam(call, caller)
  const worthAsking = { ...gathered, facts: enforce(iamChecksBefore, gathered.facts) }
  const seen = await seeIam(call, worthAsking)
  if (call.asked()) return { anew: [] }
  const facts = enforce(iamChecksAfter, seen)
  return loggedIn(call, decideIamLogin(facts, call.request.path), gathered.alias)
}
