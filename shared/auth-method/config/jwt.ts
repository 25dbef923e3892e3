import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  type MountCall,
  noContentAnswer,
} from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { boolField, durationField, listField, type SuppliedParameters } from '../../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { JwtAlgorithm, JwtConfig } from '../../model/jwt.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'

const seconds = durationField('Accepted difference of the clocks; 0 means 60 seconds, -1 none')

export const jwtConfigFields = {
  bound_audiences: listField('Audiences of accepted tokens, compared as texts'),
  organizations: listField(
    'IDs of AWS organizations whose accounts may log in although their issuers are not configured',
  ),
  jwt_supported_algs: listField('Accepted signature algorithms: RS256, ES384; default: RS256'),
  clock_skew_leeway: {
    ...seconds,
    schema: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
    read: (raw: unknown) => (raw === -1 || raw === '-1' || raw === '-1s' ? -1 : seconds.read(raw)),
  },
  max_token_age: durationField('Longest accepted time since AWS signed a token; default: 5 minutes'),
  single_use: boolField('Accept each token once; default: true'),
  allow_several_audiences: boolField('Accept tokens with several audiences'),
  max_key_age: durationField('Longest time for which fetched keys count; default: 24 hours'),
  blocked_accounts: listField('IDs of AWS accounts whose tokens are refused'),
}

type Given = SuppliedParameters<typeof jwtConfigFields>

const DEFAULT_LEEWAY = 60
const LONGEST_LEEWAY = 300
const LONGEST_TOKEN_AGE = 3600
const HOUR = 3600
const WEEK = 7 * 24 * HOUR
const LONGEST_AUDIENCE = 1000
const MOST_AUDIENCES = 20
const MOST_BLOCKED = 1000

const defaults: JwtConfig = {
  boundAudiences: [],
  organizations: [],
  algorithms: ['RS256'],
  leeway: DEFAULT_LEEWAY,
  maxTokenAge: 300,
  singleUse: true,
  allowSeveralAudiences: false,
  maxKeyAge: 24 * HOUR,
  blockedAccounts: [],
}

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)]

function mergeJwtConfig(before: JwtConfig, given: Given): JwtConfig {
  const leeway = given.clock_skew_leeway
  return {
    boundAudiences: unique(given.bound_audiences ?? before.boundAudiences),
    organizations: unique(given.organizations ?? before.organizations),
    algorithms: unique((given.jwt_supported_algs ?? before.algorithms) as JwtAlgorithm[]),
    leeway: leeway === undefined ? before.leeway : leeway < 0 ? 0 : leeway || DEFAULT_LEEWAY,
    maxTokenAge: given.max_token_age ?? before.maxTokenAge,
    singleUse: given.single_use ?? before.singleUse,
    allowSeveralAudiences: given.allow_several_audiences ?? before.allowSeveralAudiences,
    maxKeyAge: given.max_key_age ?? before.maxKeyAge,
    blockedAccounts: unique(given.blocked_accounts ?? before.blockedAccounts),
  }
}

/** Returns why a configuration is invalid; undefined if it is valid. */
function findFault(config: JwtConfig): string | undefined {
  const { boundAudiences, organizations, algorithms, leeway, maxTokenAge, maxKeyAge, blockedAccounts } =
    config
  if (boundAudiences.length === 0) return 'bound_audiences is required'
  if (boundAudiences.length > MOST_AUDIENCES || boundAudiences.some(one => one.length > LONGEST_AUDIENCE))
    return `bound_audiences must have at most ${MOST_AUDIENCES} values of at most ${LONGEST_AUDIENCE} characters`
  if (organizations.some(id => !/^o-[a-z0-9]{10,32}$/.test(id)))
    return 'organizations must be IDs such as o-a1b2c3d4e5'
  if (algorithms.length === 0 || algorithms.some(alg => alg !== 'RS256' && alg !== 'ES384'))
    return 'jwt_supported_algs must be RS256, ES384 or both'
  if (leeway > LONGEST_LEEWAY) return `clock_skew_leeway must be at most ${LONGEST_LEEWAY} seconds`
  if (maxTokenAge < 60 || maxTokenAge > LONGEST_TOKEN_AGE)
    return `max_token_age must be from 60 to ${LONGEST_TOKEN_AGE} seconds`
  if (maxKeyAge < HOUR || maxKeyAge > WEEK) return 'max_key_age must be from 1 hour to 7 days'
  return blockedAccounts.length > MOST_BLOCKED || blockedAccounts.some(id => !/^\d{12}$/.test(id))
    ? `blocked_accounts must be at most ${MOST_BLOCKED} account IDs of 12 digits`
    : undefined
}

/**
 * Handles POST config/jwt. Fields that the request leaves out keep their values.
 * @see docs/spec/configuration.md#jwt
 */
export async function writeJwtConfig(call: MountCall<typeof jwtConfigFields>): Promise<CallOutcome> {
  const stored = subjectOf(call, 'jwt-config')
  const next = mergeJwtConfig(stored?.data ?? defaults, call.parameters)
  const fault = findFault(next)
  if (fault) throw invalidRequestError(fault)
  return answerAfterChanges(
    [replaceItem(subjectKeyOf(call, 'jwt-config'), stored, next)],
    noContentAnswer(await warnAboutAudiences(call, next)),
  )
}

/** A used token is remembered by its mount, so another mount with the same audience would accept the token again. */
async function warnAboutAudiences(call: MountCall, { boundAudiences }: JwtConfig): Promise<string[]> {
  const others = call.mounts.mounts.filter(
    mount => isAuthMethodMount(mount) && mount.accessor !== call.mount.accessor,
  )
  const configs = await call.ports.store.read(others.map(({ accessor }) => key('jwt-config', accessor)))
  return others.flatMap(({ path }, index) => {
    const shared = configs[index]?.data.boundAudiences.find(audience => boundAudiences.includes(audience))
    return shared === undefined
      ? []
      : [
          `bound_audiences: the mount ${path} accepts the audience ${shared} too, so a token can be used at both`,
        ]
  })
}

/** Handles GET config/jwt. */
export const readJwtConfig = (call: Call): CallOutcome => {
  const config = requireSubject(call, 'jwt-config').data
  return answer(
    dataAnswer({
      bound_audiences: config.boundAudiences,
      organizations: config.organizations,
      jwt_supported_algs: config.algorithms,
      clock_skew_leeway: config.leeway === 0 ? -1 : config.leeway,
      max_token_age: config.maxTokenAge,
      single_use: config.singleUse,
      allow_several_audiences: config.allowSeveralAudiences,
      max_key_age: config.maxKeyAge,
      blocked_accounts: config.blockedAccounts,
    }),
  )
}
