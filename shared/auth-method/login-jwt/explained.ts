import { decideJwtLogin, jwtChecks } from './decide.ts'
import { findIssuerKeys, gatherJwtFacts, gatherTokenTrust, verifyBearer } from './gather.ts'

/** The steps of a login by token that `explain` reports one by one. */
export const jwtLoginSteps = {
  gatherTokenTrust,
  findIssuerKeys,
  verifyBearer,
  gatherJwtFacts,
  jwtChecks,
  decideJwtLogin,
}
