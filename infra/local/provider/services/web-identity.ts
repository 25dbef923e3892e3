import { randomUUID } from 'node:crypto'
import { answerUnderFault, type ProviderExchange } from '../faults/exchange.ts'
import { isWithinRateLimits } from '../faults/limits.ts'
import { type IdentityClaims, readIdentityToken } from '../identity/identity-providers.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { WebIdentityTrust } from '../state/state.ts'
import { AwsError } from '../wire/errors.ts'
import type { WireOutcome, WireRequest } from '../wire/http.ts'
import type { XmlTree } from '../wire/xml.ts'
import { type QueryParams, stsProtocol } from './query-protocol.ts'
import { type ActionCall, createService } from './service.ts'
import { assumedRole, checked, findRoleByArn, readAssumeOrder } from './sts.ts'

const ACTION = 'AssumeRoleWithWebIdentity'

/** The service of the one action that callers do not sign, because they have no AWS credentials yet. */
const unsignedSts = createService<QueryParams, XmlTree, { aws: ImitatedAws }>(stsProtocol, {
  [ACTION]: assumeRoleWithWebIdentity,
})

/** Answers AssumeRoleWithWebIdentity (STS API reference). @returns undefined for other requests */
export function answerWebIdentity(aws: ImitatedAws, request: WireRequest): Promise<WireOutcome> | undefined {
  if (request.path !== '/' || unsignedSts.actionOf(request) !== ACTION) return undefined
  const requestId = randomUUID()
  const exchange: ProviderExchange = {
    request,
    service: 'sts',
    action: ACTION,
    account: null,
    region: null,
    principalArn: null,
    refuse: error => unsignedSts.refuse(request, error, requestId),
  }
  return answerUnderFault(aws, exchange, async () => {
    try {
      const call = { service: 'sts', action: ACTION, account: '', region: '' }
      if (!isWithinRateLimits(aws.arranged.limits, call, aws.now()))
        throw new AwsError('throttled', 'Rate exceeded')
      const answer = unsignedSts.perform(request, ACTION, { aws }, requestId)
      await aws.saved()
      return answer
    } catch (error) {
      return exchange.refuse(error instanceof AwsError ? error : new AwsError('internal', String(error)))
    }
  })
}

function assumeRoleWithWebIdentity({ aws, input }: ActionCall<QueryParams, { aws: ImitatedAws }>): XmlTree {
  const order = readAssumeOrder(input)
  const token = checked(input, 'WebIdentityToken', /^[\x21-\x7e]{4,20000}$/)
  const claims = readIdentityToken(aws, order.roleArn.split(':')[4] ?? '', token)
  const role = findRoleByArn(aws, order.roleArn)
  if (role?.webIdentity === undefined || !trustsClaims(role.webIdentity, claims))
    throw new AwsError('denied', `Not authorized to perform sts:${ACTION}`)
  return {
    ...assumedRole(aws, role, order, { federated_provider: claims.provider.arn }),
    SubjectFromWebIdentityToken: claims.sub,
    Audience: claims.aud,
    Provider: claims.provider.arn,
  }
}

/** Reports whether a trust policy admits a token's issuer, audience and subject. */
const trustsClaims = (
  { issuer, audience, subject }: WebIdentityTrust,
  { provider, aud, sub }: IdentityClaims,
): boolean =>
  issuer === provider.url && audience.includes(aud) && subject.some(pattern => matchesPattern(pattern, sub))

/** Compares a text with a pattern of the condition `StringLike`. */
function matchesPattern(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('?', '.')
    .replace(/\*+/g, '.*')
  return new RegExp(`^${source}$`, 's').test(text)
}
