import * as v from 'valibot'
import { type Ec2InstanceState, ec2InstanceStates } from '../state/state.ts'

const account = v.pipe(v.string(), v.regex(/^\d{12}$/, 'an account number has 12 digits'))
const region = v.pipe(v.string(), v.regex(/^[a-z]{2,4}(-[a-z]+)+-\d+$/, 'not the name of a region'))
const name = v.pipe(v.string(), v.regex(/^[\w+=,.@-]{1,128}$/, 'not a name IAM allows'))
const path = v.optional(
  v.pipe(v.string(), v.regex(/^\/([\x21-\x7e]+\/)?$/, 'a path begins and ends with a slash')),
  '/',
)
const partition = v.optional(v.picklist(['aws', 'aws-cn', 'aws-us-gov', 'aws-eusc']), 'aws')
const whole = v.pipe(v.number(), v.integer(), v.minValue(0))
const maybe = v.optional(v.string())
const maybeNone = v.optional(v.nullable(v.string()))
const services = ['sts', 'ec2', 'iam', 'kms', 'logs', 'oidc', 'organizations'] as const
const states = Object.keys(ec2InstanceStates) as Ec2InstanceState[]

const instanceValues = {
  imageId: maybe,
  state: v.optional(v.picklist(states)),
  vpcId: maybeNone,
  subnetId: maybeNone,
  instanceProfileArn: maybeNone,
  tags: v.optional(v.record(v.string(), v.string())),
  pendingTime: v.optional(v.pipe(v.string(), v.isoTimestamp())),
  privateIp: maybe,
  availabilityZone: maybe,
  instanceType: maybe,
  architecture: maybe,
}
const instanceName = { account, region, instanceId: v.string() }
const named = { account, name }
const issuer = v.pipe(v.string(), v.regex(/^https:\/\/[\w.-]+(\/[\w./-]+)?$/, 'not the URL of an issuer'))
const texts = v.pipe(v.array(v.string()), v.minLength(1))
const sessionOfRole = {
  account,
  role: name,
  session: v.pipe(v.string(), v.regex(/^[\w+=,.@-]{2,64}$/, 'not a session name')),
}
const claims = v.optional(v.record(v.string(), v.unknown()))
const denial = v.strictObject({ principalArn: v.string(), action: v.string() })

/**
 * Schemas of the control commands' arguments. Unknown members are rejected, so that users notice typing
 * errors. Commands that only name an object accept the whole object, as another command returned it.
 */
export const controlInputSchemas = {
  nothing: v.strictObject({}),
  newInstance: v.strictObject({ account, region, instanceId: maybe, ...instanceValues }),
  instanceChange: v.strictObject({ ...instanceName, ...instanceValues }),
  instance: v.object(instanceName),
  metadataPort: v.strictObject({
    ...instanceName,
    port: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535))),
  }),
  place: v.strictObject({ account, region }),
  document: v.strictObject({ document: v.string() }),
  newUser: v.strictObject({ ...named, path, partition }),
  named: v.object(named),
  keyOwner: v.strictObject({ account, user: name }),
  root: v.strictObject({ account, partition }),
  newRole: v.strictObject({
    ...named,
    path,
    partition,
    trusts: v.optional(v.array(v.string())),
    externalId: maybe,
    webIdentity: v.optional(v.strictObject({ issuer, audience: texts, subject: texts })),
    trustPolicy: v.optional(v.string()),
  }),
  newIdentityProvider: v.strictObject({ account, url: issuer, audiences: texts }),
  identityToken: v.strictObject({
    issuer,
    subject: v.string(),
    audience: v.string(),
    ttlSeconds: v.optional(whole, 600),
  }),
  newProfile: v.strictObject({ ...named, path, partition, roles: v.array(name) }),
  session: v.strictObject({
    ...sessionOfRole,
    ttlSeconds: v.optional(whole, 3600),
    claims,
  }),
  containerToken: v.strictObject({ ...sessionOfRole, claims }),
  organization: v.strictObject({
    account,
    organizationId: v.pipe(v.string(), v.regex(/^o-[a-z0-9]{10,32}$/, 'not the ID of an organization')),
    path: v.string(),
    pathAsText: v.optional(v.boolean(), false),
    management: v.optional(v.boolean()),
    suspended: v.optional(v.boolean()),
  }),
  move: v.strictObject({ account, path: maybe }),
  federation: v.strictObject({
    account,
    partition: v.optional(v.picklist(['aws', 'aws-cn']), 'aws'),
    enabled: v.optional(v.boolean(), true),
    renew: v.optional(v.boolean(), false),
  }),
  rotation: v.strictObject({ account, keepIds: v.optional(v.boolean(), false) }),
  webToken: v.strictObject({
    account,
    claims: v.record(v.string(), v.unknown()),
    alg: v.optional(v.picklist(['RS256', 'ES384'])),
    header: v.optional(v.record(v.string(), v.unknown())),
  }),
  denial,
  fault: v.strictObject({
    service: v.optional(v.picklist([...services, 'imds', 'container'])),
    action: maybe,
    account: v.optional(account),
    times: v.optional(v.pipe(whole, v.minValue(1)), 1),
    skip: v.optional(whole, 0),
    when: v.optional(v.picklist(['before', 'after']), 'before'),
    kind: v.picklist(['throttle', 'error', 'reset', 'delay', 'hold', 'answer']),
    status: v.optional(whole),
    code: maybe,
    delayMs: v.optional(whole, 0),
    answer: v.optional(v.strictObject({ status: whole, contentType: v.string(), body: v.string() })),
  }),
  arranged: v.object({ id: v.string() }),
  limit: v.strictObject({
    service: v.picklist(services),
    action: v.string(),
    perSecond: v.pipe(v.number(), v.minValue(0)),
    burst: v.pipe(v.number(), v.minValue(0)),
  }),
  milliseconds: v.strictObject({ milliseconds: whole }),
  seconds: v.strictObject({ seconds: v.number() }),
  lostEvents: v.strictObject({ count: v.optional(whole, 1) }),
  since: v.strictObject({ since: v.optional(whole, 0) }),
  logGroup: v.strictObject({ group: v.string(), account: v.optional(account), region: v.optional(region) }),
}
