import { type AskAws, answer, dataAnswer, type MountCall, type RequestPhases } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import { requireSubject } from '../api/subject.ts'
import { ensureIdentityAlias } from '../identity/ensure.ts'
import {
  type AlgorithmSupport,
  reportAlgorithms,
  trySignatureAlgorithms,
} from '../identity-proof/algorithms.ts'
import type { Item } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { type CheckVerdict, createFailedVerdict, enforceChecks, reportVerdicts } from './login/checks.ts'
import { endingCheck, readEndingFacts } from './login/ending.ts'
import type { loginFields } from './login/fields.ts'
import type { LoginGrant } from './login/grant.ts'
import { buildLoginToken } from './login/outcome.ts'
import { type LoginProof, readLoginProof } from './login.ts'
import * as ec2 from './login-ec2/decide.ts'
import { addInstanceFacts, gatherEc2Facts, lookUpInstance } from './login-ec2/gather.ts'
import { type Ec2Proof, verifyDocument } from './login-ec2/proof.ts'
import * as iam from './login-iam/decide.ts'
import { buildStsQuestion, gatherIamFacts, lookUpCaller } from './login-iam/gather.ts'
import type { IamProof } from './login-iam/login.ts'
import type { JwtProof } from './login-jwt/prepare.ts'

type ExplainCall = MountCall<typeof loginFields>

/** The verdicts of the checks so far. A step that fails as a whole ends the report. */
interface Report {
  checks: CheckVerdict[]
  token?: Readonly<Record<string, unknown>> | undefined
}

/** The login to explain, and the verdicts found while the login was read. */
interface ExplainedLogin {
  /** call whose `role` is the role in the path */
  call: ExplainCall
  proof: LoginProof | undefined
  report: Report
}

/**
 * The phases of POST role/:role/explain, which Vault does not have. The body of an explain request is that of a
 * login. The response of explain lists every check with its value and verdict. Explain makes the same AWS calls as
 * the login and goes on after a failed check. Explain reads once, writes nothing and creates no token.
 */
export const explainLoginPhases: RequestPhases<ExplainCall, undefined, ExplainedLogin, void> = {
  gather: async call => {
    const given = { ...call.parameters, role: requireSubject(call, 'role').sk }
    const found: Report = { checks: [] }
    const legacy = call.ports.deployment.legacySignatures
    const proof = await step(found, 'parameters', () => readLoginProof(given, legacy))
    return { call: { ...call, parameters: given }, proof, report: found }
  },
  ask: async (_, { call, proof, report }, ask) => {
    if (!proof) return
    if (proof.type === 'ec2') await explainEc2(call, proof, report, ask)
    else if (proof.type === 'iam') await explainIam(call, proof, report, ask)
    else await explainJwt(call, proof, report, ask)
  },
  decide: (_, { call, proof, report: { token, checks } }) => {
    const { signatures, warnings } = reportAlgorithms(algorithms(), call.ports.deployment.legacySignatures)
    const ofDocuments = proof === undefined || proof.type === 'ec2'
    return answer(
      dataAnswer(
        defined({
          role: call.parameters.role,
          auth_type: proof?.type,
          login_would_succeed: token !== undefined,
          checks,
          token: token ?? null,
          signatures: ofDocuments ? signatures : undefined,
        }),
        ofDocuments ? warnings : [],
      ),
    )
  },
}

let tried: readonly AlgorithmSupport[] | undefined
const algorithms = (): readonly AlgorithmSupport[] => {
  tried ??= trySignatureAlgorithms()
  return tried
}

/** Runs a step that may fail as a whole, and records its verdict. Returns undefined if the step was refused. */
async function step<T>(found: Report, check: string, work: () => Promise<T> | T): Promise<T | undefined> {
  try {
    const value = await work()
    found.checks.push({ check, verdict: 'pass' })
    return value
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'internal') throw error
    const { why = error.code, ...seen } = (error.reason ?? {}) as { why?: string }
    const code = error.code === 'permission_denied' ? error.code : 'invalid_request'
    const verdict = createFailedVerdict(check, { code, why, text: error.message })
    found.checks.push(Object.keys(seen).length > 0 ? { ...verdict, seen } : verdict)
    return undefined
  }
}

/** Gathers facts. A map of the organization that is too old, which a login answers with 503, fails a check here. */
async function gatherOrReport<T>(found: Report, gather: () => Promise<T>): Promise<T | undefined> {
  try {
    return await gather()
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason?.['why'] !== 'organization-stale') throw error
    return step(found, 'organization', () => Promise.reject(error))
  }
}

async function explainEc2(call: ExplainCall, proof: Ec2Proof, found: Report, ask: AskAws): Promise<void> {
  const document = await step(found, 'signature', () => verifyDocument(call, proof))
  if (!document) return
  const gathered = await gatherOrReport(found, () =>
    gatherEc2Facts(call, document, call.ports.entropy.uuid()),
  )
  if (!gathered) return
  found.checks.push(...reportVerdicts(ec2.ec2ChecksBeforeLookUp, gathered.facts))
  const facts = await step(found, 'look-up of the instance', async () =>
    addInstanceFacts(call, gathered, await lookUpInstance(call, gathered, ask)),
  )
  if (!facts) return
  found.checks.push(...reportVerdicts(ec2.ec2ChecksAfterLookUp, facts))
  if (!passes(found)) return
  const passed = enforceChecks(ec2.ec2ChecksAfterLookUp, enforceChecks(ec2.ec2ChecksBeforeLookUp, facts))
  await preview(call, ec2.decideEc2Login(passed, loginPath(call)).grant, gathered.alias, found)
}

async function explainIam(call: ExplainCall, proof: IamProof, found: Report, ask: AskAws): Promise<void> {
  const caller = await step(found, 'caller identity', async () =>
    ask(await buildStsQuestion(call, proof.request)),
  )
  if (!caller) return
  const gathered = await gatherOrReport(found, () => gatherIamFacts(call, caller))
  if (!gathered) return
  found.checks.push(...reportVerdicts(iam.iamChecksBeforeLookUp, gathered.facts))
  const seen = await step(found, 'look-ups of principal and instance', () =>
    lookUpCaller(call, gathered, ask),
  )
  if (!seen) return
  const facts = { ...gathered.facts, ...seen }
  found.checks.push(...reportVerdicts(iam.iamChecksAfterLookUp, facts))
  if (!passes(found)) return
  const passed = enforceChecks(iam.iamChecksAfterLookUp, enforceChecks(iam.iamChecksBeforeLookUp, facts))
  await preview(call, iam.decideIamLogin(passed, loginPath(call)), gathered.alias, found)
}

async function explainJwt(call: ExplainCall, proof: JwtProof, found: Report, ask: AskAws): Promise<void> {
  const { jwtLoginSteps: login } = await import('./login-jwt/explained.ts')
  const trusted = await step(found, 'issuer and keys', async () => {
    const trust = await login.gatherTokenTrust(call, proof)
    return { trust, keys: await login.findIssuerKeys(call, trust, ask) }
  })
  if (!trusted) return
  const { trust, keys } = trusted
  const bearer = await step(found, 'signature', () => login.verifyBearer(call, trust, keys))
  if (!bearer) return
  const { facts, alias } = await login.gatherJwtFacts(call, bearer, trust)
  found.checks.push(...reportVerdicts(login.jwtChecks, facts))
  if (!passes(found)) return
  const passed = enforceChecks(login.jwtChecks, facts)
  await preview(call, login.decideJwtLogin(passed, loginPath(call)), alias, found)
}

const passes = ({ checks }: Report): boolean => checks.every(check => check.verdict !== 'fail')

const loginPath = (call: ExplainCall): string => `auth/${call.mount.path}/login`

/** Adds the token that the login would create, unless the instance has ended or the token itself is refused. */
async function preview(
  call: ExplainCall,
  grant: LoginGrant,
  stored: Item<'alias'> | undefined,
  found: Report,
): Promise<void> {
  const { now, ports } = call
  const mount = call.mount
  if (grant.endsWith) {
    found.checks.push(...reportVerdicts([endingCheck], await readEndingFacts(call, grant.endsWith)))
    if (!passes(found)) return
  }
  const fresh = { entityId: ports.entropy.uuid(), aliasId: ports.entropy.uuid() }
  const { alias } = ensureIdentityAlias(stored, { ...grant.alias, mount: mount.accessor, now, fresh })
  found.token = await step(found, 'token', () => {
    const { policies, type, ttl, meta } = buildLoginToken(grant, { mount, alias, now }).token
    return { policies, type, ttl, metadata: meta, alias_name: grant.alias.name }
  })
}
