import type { CallOutcome, MountCall, RequestPhases } from '../../api/call.ts'
import { parseJwt, untrustedIssuer } from '../../identity-proof/jwt.ts'
import type { FetchedKeys } from '../../model/issuer-memory.ts'
import { type Change, createItem, replaceItem } from '../../storage/changes.ts'
import { enforceChecks, throwLoginRefusal } from '../login/checks.ts'
import type { loginFields } from '../login/fields.ts'
import { commitLogin } from '../login/outcome.ts'
import { decideJwtLogin, jwtChecks } from './decide.ts'
import type { JwtBearer, JwtFacts } from './facts.ts'
import {
  findIssuerKeys,
  gatherJwtFacts,
  gatherTokenTrust,
  type IssuerKeys,
  refuseUnconfigured,
  startRefresh,
  type TokenTrust,
  verifyBearer,
} from './gather.ts'
import { newIssuer, planIssuerOfAccount, warnAboutChangedKeys, withFetchedKeys } from './issuers.ts'
import { type JwtProof, prepareJwtLogin } from './prepare.ts'
import { describeToken, otherAccountRefusal } from './token-checks.ts'

type LoginCall = MountCall<typeof loginFields>

/**
 * Reads the token of a login. Agents send a file with its line break, so white space around the token is ignored.
 * @throws ApiError `invalid_request`
 */
function readJwtProof(text: string): JwtProof {
  const jwt = parseJwt(text.trim())
  return jwt.ok ? { type: 'jwt', jwt: jwt.value } : throwLoginRefusal(jwt.fault)
}

/**
 * The phases of a login by token. A login with known keys asks nobody. When keys were fetched, the login reads
 * everything again, because somebody may have blocked the issuer meanwhile.
 * @see docs/spec/login-jwt.md#order
 */
const jwtLoginPhases: RequestPhases<LoginCall, undefined, TokenTrust, IssuerKeys> = {
  rereads: true,
  gather: call => gatherTokenTrust(call, call.prepared as JwtProof),
  ask: findIssuerKeys,
  decide: async (call, trust, keys) => {
    const bearer = verifyBearer(call, trust, keys)
    const { facts, alias } = await gatherJwtFacts(call, bearer, trust)
    const passed = enforceChecks(jwtChecks, facts)
    // a granted login refreshes and stores keys, a refused one does not
    const refreshing = keys.fetched ? Promise.resolve(keys.fetched) : startRefresh(call, trust)
    const grant = decideJwtLogin(passed, call.request.path)
    const more = [...spendToken(facts, trust), ...(await learnIssuer(call, trust, bearer, keys))]
    return refreshAfterwards(call, trust, refreshing, await commitLogin(call, grant, alias, more))
  },
}

/** Longest accepted leeway, so that a used token is remembered whatever the leeway becomes. */
const LEEWAY_SECONDS = 300
const MARGIN_SECONDS = 60

function spendToken({ config, bearer: { token } }: JwtFacts, { places }: TokenTrust): Change[] {
  if (!config.singleUse) return []
  const expires = token.exp + LEEWAY_SECONDS + MARGIN_SECONDS
  return [createItem(places.spent, {}, { expires })]
}

/** Returns the changes that store an issuer that is learnt now, and its account. */
async function learnIssuer(
  call: LoginCall,
  { jwt, places, issuer }: TokenTrust,
  { account }: JwtBearer,
  { fetched }: IssuerKeys,
): Promise<Change[]> {
  if (!fetched || issuer) return []
  const claim = await planIssuerOfAccount(call, jwt.issuer.id, account)
  const seen = describeToken(jwt, true)
  if (claim.kind !== 'free') {
    const refusal = claim.kind === 'blocked' ? untrustedIssuer('jwt-issuer-blocked') : otherAccountRefusal
    return throwLoginRefusal(refusal, { ...seen, other: claim.by })
  }
  if (claim.supersedes)
    call.ports.log.warn('an account has another issuer than before', {
      account,
      issuer: jwt.issuer.id,
      before: claim.supersedes,
    })
  const learnt = withFetchedKeys(newIssuer(account, jwt.issuer), fetched)
  return [createItem(places.issuer, learnt), ...claim.changes]
}

const REFRESH_WAIT_MS = 300

/**
 * Stores the fetched keys of a known issuer after the login, if they arrive within 300 ms. Logins at the same time would
 * cancel each other's transactions if each contained the issuer.
 */
function refreshAfterwards(
  call: LoginCall,
  { jwt, issuer }: TokenTrust,
  refreshing: Promise<FetchedKeys> | undefined,
  outcome: CallOutcome,
): CallOutcome {
  if (!refreshing || !issuer) return outcome
  const { store, clock } = call.ports
  const refresh = async (): Promise<void> => {
    const fetched = await Promise.race([refreshing, clock.sleep(REFRESH_WAIT_MS)])
    if (!fetched) return
    const next =
      fetched.kind === 'keys'
        ? withFetchedKeys(issuer.data, fetched)
        : { ...issuer.data, lastError: fetched.kind }
    if (fetched.kind === 'keys') warnAboutChangedKeys(call, jwt.issuer.id, issuer.data, fetched)
    // the same failure is written once
    else if (issuer.data.lastError === fetched.kind) return
    await store.commit([replaceItem(issuer, issuer, next)], call.cluster, { tries: 1 })
  }
  const afterwards = async (): Promise<void> => {
    await Promise.all([outcome.afterwards?.(), refresh()])
  }
  return { ...outcome, afterwards }
}

/** The parts of logins by token that the endpoint of logins uses. */
export const jwtLogin = {
  readProof: readJwtProof,
  prepare: prepareJwtLogin,
  phases: jwtLoginPhases,
  refuseWithoutMount: refuseUnconfigured,
}
