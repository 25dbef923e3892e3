import { X509Certificate } from 'node:crypto'
import { type AskAws, answer, type CallOutcome, dataAnswer, type MountCall } from '../../api/call.ts'
import { boolField, lowerTextField } from '../../api/fields.ts'
import { isModernKey } from '../../identity-proof/signature-algorithms.ts'
import type { Role } from '../../model/role.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { parseIamEntity } from '../../values/arn.ts'
import { defined } from '../../values/defined.ts'
import { chooseTokenType } from '../login/outcome.ts'
import { roleFields } from '../roles/fields.ts'
import { planRoleWrite } from '../roles/handlers.ts'
import { askAboutPrincipals, type PrincipalAnswers } from './ask-principals.ts'
import { collectPrincipals, type PrincipalsToAsk } from './bound-principals.ts'
import type { ReviewFacts, ReviewSource } from './facts.ts'
import { createReviewFindings, type ReviewFindings } from './findings.ts'
import { visitItems } from './read-pages.ts'
import { type RoleUses, readRoleUses } from './role-uses.ts'
import { longestTokenSeconds } from './token-life.ts'

export const reviewMountFields = {
  ask_aws: boolField('Also ask IAM about the principals of roles, at most 100'),
}

export const reviewRoleFields = {
  ...reviewMountFields,
  role: lowerTextField('Name of the role that the body would create or change; default: a new role'),
  ...roleFields,
}

type ReviewCall = MountCall<typeof reviewMountFields>
type RoleReviewCall = MountCall<typeof reviewRoleFields>

/** The facts that a review has read, before it asks IAM. */
interface Review {
  findings: ReviewFindings
  principals: PrincipalsToAsk
  gaps: Map<ReviewSource, string>
}

const ONLY_A_ROLE = 'only the role was judged'

/**
 * The phases of GET review. A review writes nothing. If the review asks IAM, half of the time is for reads.
 * @see docs/spec/review.md
 */
export const reviewMountPhases = {
  gather: reviewMount,
  ask: askIam,
  decide: reportReview,
}

/** The phases of POST review, which judges the role that a write with the same body would store. */
export const reviewRolePhases = {
  gather: reviewRole,
  ask: askIam,
  decide: reportReview,
}

async function reviewMount(call: ReviewCall): Promise<Review> {
  const { now, mount, ports, parameters, request } = call
  const { accessor } = mount
  const { legacySignatures } = ports.deployment
  const until = parameters.ask_aws ? now + (request.deadline - now) / 2 : request.deadline
  const settings = await readSettings(call)
  const { blockedAccounts = [] } = settings.jwt ?? {}
  const review = startReview()
  const { findings, gaps } = review
  const uses = await readRoleUses(call, until)
  const roles = judgeRoles(call, review, uses)
  const reads: Partial<Record<ReviewSource, Promise<string | undefined>>> = {
    roles: visitItems(call, itemPartitions('role', accessor), until, ({ sk, data }) => roles.add(sk, data)),
    satellites: visitItems(call, itemPartitions('sts-role', accessor), until, ({ sk: account, data }) =>
      findings.judge('satellite', subjectPath('config/sts', account), {
        account,
        externalId: data.externalId,
      }),
    ),
    certificates: visitItems(call, itemPartitions('certificate', accessor), until, ({ sk, data }) => {
      const { validToDate, publicKey } = new X509Certificate(data.pem)
      const facts = { endsAt: validToDate.getTime(), now, isModern: isModernKey(publicKey), legacySignatures }
      findings.judge('certificate', subjectPath('config/certificate', sk), facts)
    }),
    // without config/jwt no issuer counts
    ...(settings.jwt && {
      issuers: visitItems(call, itemPartitions('issuer', accessor), until, ({ sk, data }) =>
        findings.judge('issuer', subjectPath('config/jwt/issuer', sk), {
          ...data,
          blocked: data.blocked || blockedAccounts.includes(data.account),
        }),
      ),
    }),
  }
  await Promise.all(
    Object.entries(reads).map(async ([source, read]) => {
      const why = await read
      if (why !== undefined) gaps.set(source as ReviewSource, why)
    }),
  )
  const gapOfRoles = gaps.get('roles')
  const gapOfUses = uses.gap ?? gapOfRoles
  if (gapOfUses !== undefined) gaps.set('uses', gapOfUses)
  if (gapOfRoles !== undefined) gaps.set('logins', gapOfRoles)
  if (settings.organization) findings.judge('satellite', 'config/organization', settings.organization)
  findings.judge('logins', 'config', { ...settings, ...roles.summary() })
  findings.judge('mount', 'config', { ...settings, now, legacySignatures })
  return review
}

async function reviewRole(call: RoleReviewCall): Promise<Review> {
  const { role: name = '', ask_aws: _, ...parameters } = call.parameters
  const place = key('role', call.mount.accessor, name)
  const [stored] = await call.ports.store.read([place])
  const { role } = await planRoleWrite({ ...call, parameters }, place, stored)
  const review = startReview()
  const roles = judgeRoles(call, review, { unusedMs: () => undefined })
  roles.add(name, role)
  review.findings.judge('logins', 'config', { ...(await readSettings(call)), ...roles.summary() })
  for (const source of ['settings', 'logins', 'uses', 'satellites', 'certificates', 'issuers'] as const)
    review.gaps.set(source, ONLY_A_ROLE)
  return review
}

const startReview = (): Review => ({
  findings: createReviewFindings(),
  principals: collectPrincipals(),
  gaps: new Map(),
})

const subjectPath = (prefix: string, name: string): string => `${prefix}/${encodeURIComponent(name)}`

type ReviewedSettings = Pick<ReviewFacts['logins'], 'serverId' | 'jwt'> &
  Pick<ReviewFacts['mount'], 'map'> & {
    /** the role that is assumed to read the organization; absent: none is assumed */
    organization?: ReviewFacts['satellite']
  }

async function readSettings({ ports, mount: { accessor } }: MountCall): Promise<ReviewedSettings> {
  const [client, jwt, map, config] = await ports.store.read([
    key('client-config', accessor),
    key('jwt-config', accessor),
    key('organization-map', accessor),
    key('organization-config', accessor),
  ])
  const { role = '', externalId = '' } = config?.data ?? {}
  const account = parseIamEntity(role)?.account
  const organization = account === undefined ? undefined : { account, externalId }
  return defined({ serverId: client?.data.serverId ?? '', jwt: jwt?.data, map: map?.data, organization })
}

type RolesSummary = Pick<ReviewFacts['logins'], 'hasIamRoles' | 'hasJwtServiceRoles'>

/** Judges roles one by one, and keeps only what the rules about the mount and IAM need. */
function judgeRoles({ mount }: MountCall, { findings, principals }: Review, uses: RoleUses) {
  let hasIamRoles = false
  let hasJwtServiceRoles = false
  return {
    add: (name: string, role: Role): void => {
      findings.judge(
        'role',
        subjectPath('role', name),
        defined({ role, lifeSeconds: longestTokenSeconds(role, mount), unusedMs: uses.unusedMs(name, role) }),
      )
      principals.add(name, role)
      hasIamRoles ||= role.authType === 'iam'
      hasJwtServiceRoles ||= role.authType === 'jwt' && chooseTokenType(role.token.type, mount) === 'service'
    },
    summary: (): RolesSummary => ({ hasIamRoles, hasJwtServiceRoles }),
  }
}

async function askIam(
  call: ReviewCall,
  { principals }: Review,
  ask: AskAws,
): Promise<PrincipalAnswers | undefined> {
  return call.parameters.ask_aws ? askAboutPrincipals(call, principals.list(), ask) : undefined
}

function reportReview(
  _: ReviewCall,
  { findings, principals, gaps }: Review,
  asked: PrincipalAnswers | undefined,
): CallOutcome {
  for (const { arn, bindings } of principals.list()) {
    const found = asked?.answers.get(arn)
    if (!found) continue
    for (const { role, ...bound } of bindings)
      findings.judge('principal', subjectPath('role', role), { arn, ...bound, ...found })
  }
  const reasons = asked ? [asked.gap, principals.gap(), gaps.get('roles')] : ['ask_aws is not set']
  const why = reasons.filter(reason => reason !== undefined).join('; ')
  return answer(dataAnswer({ ...findings.report(why === '' ? gaps : new Map([...gaps, ['iam', why]])) }))
}
