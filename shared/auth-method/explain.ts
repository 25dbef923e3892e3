import { type AskProvider, answer, data, type MountCall, type Phases } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import { storedOf } from '../api/subject.ts'
import { ensureAlias } from '../identity/ensure.ts'
import { type Algorithm, reportOn, triedAlgorithms } from '../identity-proof/algorithms.ts'
import type { Item } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { enforce, failedCheck, report, type Verdict } from './login/checks.ts'
import type { loginFields } from './login/fields.ts'
import type { Grant } from './login/grant.ts'
import { grantedToken } from './login/outcome.ts'
import { type Proof, readLogin } from './login.ts'
import * as ec2 from './login-ec2/decide.ts'
import { askAboutInstance, gatherEc2, withInstance } from './login-ec2/gather.ts'
import { type Ec2Proof, provenDocument } from './login-ec2/proof.ts'
import * as iam from './login-iam/decide.ts'
import { askAboutCaller, gatherIam, stsQuestion } from './login-iam/gather.ts'
import type { IamProof } from './login-iam/login.ts'

type ExplainCall = MountCall<typeof loginFields>

/** Verdicts so far; a step that cannot be taken ends the report. */
interface Report {
  checks: Verdict[]
  token?: Readonly<Record<string, unknown>> | undefined
}

/** A login that is asked about, and what was found out while it was read. */
interface Asked {
  /** with the role that the path names */
  call: ExplainCall
  proof: Proof | undefined
  found: Report
}

/**
 * POST role/:role/explain (an addition of ours): the body of a login in, every check with the value it saw and
 * its verdict out. It asks what the login would ask and goes on where a check fails. It reads once, nothing is written, and
 * no token is made.
 */
export const explanation: Phases<ExplainCall, undefined, Asked, void> = {
  gather: async call => {
    const given = { ...call.given, role: storedOf(call, 'role').sk }
    const found: Report = { checks: [] }
    const legacy = call.ports.deployment.legacySignatures
    const proof = await step(found, 'parameters', () => readLogin(given, legacy))
    return { call: { ...call, given }, proof, found }
  },
  ask: async (_, { call, proof, found }, ask) => {
    if (proof)
      await (proof.type === 'ec2' ? explainEc2(call, proof, found, ask) : explainIam(call, proof, found, ask))
  },
  decide: (_, { call, proof, found: { token, checks } }) => {
    const { signatures, warnings } = reportOn(algorithms(), call.ports.deployment.legacySignatures)
    const ofDocuments = proof?.type !== 'iam'
    return answer(
      data(
        defined({
          role: call.given.role,
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

let tried: readonly Algorithm[] | undefined
const algorithms = (): readonly Algorithm[] => {
  tried ??= triedAlgorithms()
  return tried
}

/** Takes a step that may refuse as a whole; undefined when it did. */
async function step<T>(found: Report, check: string, work: () => Promise<T> | T): Promise<T | undefined> {
  try {
    const value = await work()
    found.checks.push({ check, verdict: 'pass' })
    return value
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'internal') throw error
    const { why = error.code, ...seen } = (error.reason ?? {}) as { why?: string }
    const code = error.code === 'permission_denied' ? error.code : 'invalid_request'
    const verdict = failedCheck(check, { code, why, text: error.message })
    found.checks.push(Object.keys(seen).length > 0 ? { ...verdict, seen } : verdict)
    return undefined
  }
}

async function explainEc2(
  call: ExplainCall,
  proof: Ec2Proof,
  found: Report,
  ask: AskProvider,
): Promise<void> {
  const document = await step(found, 'signature', () => provenDocument(call, proof))
  if (!document) return
  const gathered = await gatherEc2(call, document, call.ports.entropy.uuid())
  found.checks.push(...report(ec2.ec2ChecksBefore, gathered.facts))
  const facts = await step(found, 'look-up of the instance', async () =>
    withInstance(call, gathered, await askAboutInstance(call, gathered, ask)),
  )
  if (!facts) return
  found.checks.push(...report(ec2.ec2ChecksAfter, facts))
  if (!passes(found)) return
  const passed = enforce(ec2.ec2ChecksAfter, enforce(ec2.ec2ChecksBefore, facts))
  await preview(call, ec2.decideEc2Login(passed, loginPath(call)).grant, gathered.alias, found)
}

async function explainIam(
  call: ExplainCall,
  proof: IamProof,
  found: Report,
  ask: AskProvider,
): Promise<void> {
  const caller = await step(found, 'caller identity', async () => ask(await stsQuestion(call, proof.request)))
  if (!caller) return
  const gathered = await gatherIam(call, caller)
  found.checks.push(...report(iam.iamChecksBefore, gathered.facts))
  const seen = await step(found, 'look-ups of principal and instance', () =>
    askAboutCaller(call, gathered, ask),
  )
  if (!seen) return
  const facts = { ...gathered.facts, ...seen }
  found.checks.push(...report(iam.iamChecksAfter, facts))
  if (!passes(found)) return
  const passed = enforce(iam.iamChecksAfter, enforce(iam.iamChecksBefore, facts))
  await preview(call, iam.decideIamLogin(passed, loginPath(call)), gathered.alias, found)
}

const passes = ({ checks }: Report): boolean => checks.every(check => check.verdict !== 'fail')

const loginPath = (call: ExplainCall): string => `auth/${call.mount.path}/login`

/** The token that the login would give, where nothing stands in its way. */
async function preview(
  call: ExplainCall,
  grant: Grant,
  stored: Item<'alias'> | undefined,
  found: Report,
): Promise<void> {
  const { now, ports } = call
  const mount = call.mount
  const fresh = { entityId: ports.entropy.uuid(), aliasId: ports.entropy.uuid() }
  const { alias } = ensureAlias(stored, { ...grant.alias, mount: mount.accessor, now, fresh })
  found.token = await step(found, 'token', () => {
    const { policies, type, ttl, meta } = grantedToken(grant, { mount, alias, now }).token
    return { policies, type, ttl, metadata: meta, alias_name: grant.alias.name }
  })
}
