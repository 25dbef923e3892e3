import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { metricDescriptions } from '../../../infra/watching/metric-descriptions.ts'
import { classifyLoginResult, countProviderFaults, guessLoginType } from '../../../shared/watching/logins.ts'

test.each([
  ['no error', undefined, 'granted', 'none'],
  ['a rule of the role', { status: 400, why: 'not-bound_ami_id' }, 'refused', 'role'],
  ['a missing role', { status: 400, why: 'no-role' }, 'refused', 'role'],
  ['a source address that is not bound', { status: 403, why: 'source-address' }, 'refused', 'role'],
  ['a rejected signature', { status: 400, why: 'sts-refused' }, 'refused', 'proof'],
  ['an incomplete proof', { status: 400 }, 'refused', 'proof'],
  ['EC2 throttling', { status: 503, why: 'throttled', service: 'ec2' }, 'failed', 'aws'],
  ['an STS failure', { status: 502, why: 'provider-failed', service: 'sts' }, 'failed', 'aws'],
  ['tables that cannot be reached', { status: 503 }, 'failed', 'service'],
  ['an internal error', { status: 500 }, 'failed', 'service'],
])('a login is counted with %s', (_, fault, outcome, reason) => {
  expect(classifyLoginResult(fault)).toEqual({ outcome, reason })
})

/** Returns the names of all rules that reject logins, from the source files. */
const rules = [
  'identity-proof',
  'auth-method/login',
  'auth-method/login-ec2',
  'auth-method/login-iam',
  'auth-method/login-jwt',
].flatMap(folder =>
  readdirSync(`${checkoutRoot}shared/${folder}`)
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => [
      ...readFileSync(`${checkoutRoot}shared/${folder}/${name}`, 'utf8').matchAll(
        /(?:createRefusal\(|untrustedIssuer\(|why: )\s*['`]([a-z-]+)/g,
      ),
    ])
    .map(([, why = '']) => why),
)

test('each rule is classified as one of the role or of the proof by this table', () => {
  const of = (reason: string) =>
    [...new Set(rules)].filter(why => classifyLoginResult({ status: 400, why }).reason === reason).sort()
  expect(of('role')).toEqual([
    'claims-too-large',
    'document-older',
    'entity-disabled',
    'entry-damaged',
    'instance-ended',
    'instance-identity-role',
    'instance-lookup',
    'instance-not-running',
    'no-alias',
    'no-instance',
    'no-role',
    'no-session-end',
    'nonce-length',
    'nonce-mismatch',
    'principal-lookup',
    'principal-not-bound',
    'principal-type',
    'reauthentication-disabled',
    'role-required',
    'role-tag-',
    'role-type',
    'root-policy',
    'session-not-instance',
    'source-address',
  ])
  expect(of('proof')).toEqual([
    'document',
    'header-not-allowed',
    'header-refused',
    'identity-encoding',
    'jwt-account',
    'jwt-account-blocked',
    'jwt-age',
    'jwt-algorithm',
    'jwt-audience',
    'jwt-expired',
    'jwt-form',
    'jwt-future',
    'jwt-issuer',
    'jwt-issuer-blocked',
    'jwt-issuer-superseded',
    'jwt-key',
    'jwt-keys-stale',
    'jwt-keys-unreachable',
    'jwt-learning-busy',
    'jwt-not-configured',
    'jwt-organization',
    'jwt-replayed',
    'jwt-signature',
    'jwt-subject',
    'not-',
    'not-signed-data',
    'organization-stale',
    'proof-ambiguous',
    'proof-missing',
    'provider-failed',
    'query-not-allowed',
    'server-id-mismatch',
    'server-id-missing',
    'server-id-unsigned',
    'signature-encoding',
    'sts-answer',
    'sts-host',
    'sts-partition',
    'sts-refused',
    'sts-region',
    'throttled',
  ])
})

test('a login has no more series than its metric’s row says, whatever clients send', () => {
  const faults = [
    undefined,
    ...[400, 403, 404, 413, 429, 500, 502, 503].flatMap(status =>
      [undefined, ...rules].flatMap(why => [
        { status, why },
        { status, why, service: 'sts' },
      ]),
    ),
  ]
  const kinds = new Set(faults.map(fault => JSON.stringify(classifyLoginResult(fault))))
  // without a type no proof was checked, so no role was checked and AWS was not called; without tables the login may fail
  const withType = kinds.size * 3
  const without = 3
  expect(withType + without).toBeLessThanOrEqual(metricDescriptions.Logins.series[1])
})

test.each([
  [{ pkcs7: 'x' }, 'ec2'],
  [{ identity: 'x' }, 'ec2'],
  [{ iam_request_url: 'x' }, 'iam'],
  [{ iam_http_request_method: 'POST', role: 'a' }, 'iam'],
  [{ jwt: 'x' }, 'jwt'],
  [{ jwt: '', pkcs7: 'x' }, 'ec2'],
  [{ role: 'a' }, 'none'],
])('%j looks like a login of type %s', (given, type) => expect(guessLoginType(given)).toBe(type))

describe('failed AWS calls of a request', () => {
  test('failed AWS calls are counted by service as throttled or failed', () => {
    expect(countProviderFaults({ dynamodb: 3, ec2: 4, 'ec2 throttled': 3, sts: 1, 'iam failed': 1 })).toEqual(
      {
        Ec2Throttles: 3,
        IamFailures: 1,
      },
    )
  })

  test('counts of failed AWS calls are absent if all calls succeeded', () => {
    expect(countProviderFaults({ dynamodb: 2, sts: 1 })).toEqual({})
  })
})
