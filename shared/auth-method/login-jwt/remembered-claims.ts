import type { LoginClaims } from '../../model/jwt.ts'
import { defined } from '../../values/defined.ts'
import { podTags } from '../config/identity-jwt.ts'
import type { JwtFacts } from './facts.ts'

/** Largest size of the claims that a service token keeps: bytes of their JSON text. */
export const MOST_CLAIM_BYTES = 1024

/**
 * Returns the claims that a service token keeps for its renewals: those that a bound can compare. Of the tags only
 * those that the role binds.
 */
export function rememberedClaims({ bearer, role }: Pick<JwtFacts, 'bearer' | 'role'>): LoginClaims {
  const { claims, token } = bearer
  const { orgId, orgPaths, instanceArn, vpcId, metadataVersion, lambdaArn } = claims
  const { sourceIdentity, identityStoreUserId, federatedProvider } = claims
  const { claims: bound = {} } = role
  const keys = [...Object.keys(bound.bound_principal_tags ?? {}), ...boundPodTags(bound)]
  const tags = Object.entries(claims.principalTags).filter(([name]) => keys.includes(name))
  return defined({
    issuer: token.issuer.id,
    sub: token.sub,
    orgId,
    orgPaths,
    instanceArn,
    vpcId,
    metadataVersion,
    lambdaArn,
    sourceIdentity,
    identityStoreUserId,
    federatedProvider,
    principalTags: tags.length > 0 ? Object.fromEntries(tags) : undefined,
  })
}

const boundPodTags = (bound: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(podTags).flatMap(([name, tag]) => (bound[`bound_${name}`] === undefined ? [] : [tag]))

/** Returns the size of the claims that a service token would keep. */
export const measureClaims = (facts: Pick<JwtFacts, 'bearer' | 'role'>): number =>
  Buffer.byteLength(JSON.stringify(rememberedClaims(facts)))
