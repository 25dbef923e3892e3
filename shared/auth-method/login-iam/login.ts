import type { MountCall, RequestPhases } from '../../api/call.ts'
import type { VerifiedIdentity } from '../../identity-proof/caller-identity.ts'
import type { SignedRequest } from '../../identity-proof/signed-request.ts'
import { enforceChecks, type WithPassedChecks } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { commitLogin } from '../login/outcome.ts'
import { decideIamLogin, iamChecksAfterLookUp, iamChecksBeforeLookUp } from './decide.ts'
import type { IamFacts } from './facts.ts'
import {
  buildStsQuestion,
  type CallerLookUps,
  type GatheredIamFacts,
  gatherIamFacts,
  lookUpCaller,
} from './gather.ts'

type LoginCall = MountCall<typeof loginFields>

/** A parsed caller-identity request. Only STS can verify a caller-identity request. */
export interface IamProof {
  type: 'iam'
  request: SignedRequest
}

/**
 * The phases of a login by signed caller-identity request. Until STS has answered, the login reads only the configuration that
 * shapes the call to STS. @see docs/spec/login-iam.md#judged-twice
 */
export const iamLoginPhases: RequestPhases<
  LoginCall,
  VerifiedIdentity,
  GatheredIamFacts<WithPassedChecks<IamFacts>>,
  CallerLookUps
> = {
  rereads: true,
  identify: async (call, ask) => ask(await buildStsQuestion(call, (call.prepared as IamProof).request)),
  gather: async (call, caller) => {
    const gathered = await gatherIamFacts(call, caller)
    return { ...gathered, facts: enforceChecks(iamChecksBeforeLookUp, gathered.facts) }
  },
  ask: lookUpCaller,
  decide: async (call, { facts: checked, alias }, { fullArn, inferred }) => {
    const facts = enforceChecks(iamChecksAfterLookUp, { ...checked, fullArn, inferred })
    return commitLogin(call, decideIamLogin(facts, call.request.path), alias)
  },
}
