import { randomUUID } from 'node:crypto'
import { issuerHostOf, signWebToken } from '../identity/federation.ts'
import { AwsError, awsError } from '../wire/errors.ts'
import type { XmlTree } from '../wire/xml.ts'
import { optionalParam, type QueryParams } from './query-protocol.ts'
import type { ActionCall } from './service.ts'

type Call = ActionCall<QueryParams>

const LONGEST_PAYLOAD = 8192

const listParam = (input: QueryParams, name: string): string[] =>
  [...input].filter(([one]) => new RegExp(`^${name}\\.member\\.\\d+$`).test(one)).map(([, value]) => value)

const invalid = (message: string) =>
  awsError(400, 'ValidationError', `1 validation error detected: ${message}`)

/** GetWebIdentityToken (STS API reference): a token about the caller, signed by the issuer of the caller's account. */
export function getWebIdentityToken(call: Call): XmlTree {
  const { aws, caller, input } = call
  const audiences = listParam(input, 'Audience')
  if (audiences.length === 0 || audiences.length > 10) throw invalid("'audience' must have 1 to 10 members")
  const alg = optionalParam(input, 'SigningAlgorithm')
  if (alg !== 'RS256' && alg !== 'ES384') throw invalid("'signingAlgorithm' must be RS256 or ES384")
  const seconds = Number(optionalParam(input, 'DurationSeconds') ?? '300')
  if (!Number.isInteger(seconds) || seconds < 60 || seconds > 3600)
    throw invalid("'durationSeconds' must be from 60 to 3600")
  const issuer = aws.state.issuers.get(caller.account)
  if (!issuer?.enabled)
    throw awsError(
      400,
      'OutboundWebIdentityFederationDisabledException',
      'Outbound web identity federation is not enabled for this account.',
    )
  if (caller.kind === 'root') throw new AwsError('denied', 'Root cannot call GetWebIdentityToken.')
  const now = Math.floor(aws.now() / 1000)
  const end = caller.session && Math.floor(caller.session.expiresAt / 1000)
  if (end !== undefined && now + seconds > end)
    throw awsError(403, 'SessionDurationEscalationException', 'The token would outlive the session.')
  const exp = now + seconds
  const claims = {
    iss: `https://${issuerHostOf(issuer)}`,
    sub: caller.permissionArn,
    aud: audiences.length === 1 ? audiences[0] : audiences,
    iat: now,
    exp,
    jti: randomUUID(),
    'https://sts.amazonaws.com/': { ...contextOf(call), ...requestTagsOf(input) },
  }
  const token = signWebToken(aws, caller.account, claims, { alg })
  if (token.length > LONGEST_PAYLOAD)
    throw awsError(400, 'JWTPayloadSizeExceededException', 'The payload of the token is too large.')
  return { WebIdentityToken: token, Expiration: new Date(exp * 1000).toISOString().replace('.000Z', 'Z') }
}

function contextOf({ aws, caller, region }: Call): Record<string, unknown> {
  const place = aws.state.organizations.get(caller.account)
  const { facts, expiresAt } = caller.session ?? {}
  return {
    aws_account: caller.account,
    principal_id: caller.permissionArn,
    source_region: region,
    ...(place ? { org_id: place.organizationId, ou_path: place.pathAsText ? place.path : [place.path] } : {}),
    ...(expiresAt === undefined ? {} : { original_session_exp: new Date(expiresAt).toISOString() }),
    ...facts,
  }
}

function requestTagsOf(input: QueryParams): { request_tags?: Record<string, string> } {
  const tags = [...input].flatMap(([name, key]) => {
    const [, index] = /^Tags\.member\.(\d+)\.Key$/.exec(name) ?? []
    return index === undefined ? [] : [[key, input.get(`Tags.member.${index}.Value`) ?? ''] as const]
  })
  return tags.length > 0 ? { request_tags: Object.fromEntries(tags) } : {}
}
