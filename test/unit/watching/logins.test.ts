import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root } from '../../../infra/checkout.ts'
import { classifyLogin, countProviderFaults, guessLoginType } from '../../../shared/watching/logins.ts'
import { metrics } from '../../../shared/watching/metrics.ts'

test.each([
  ['granted', undefined, 'granted', 'none'],
  ['a rule of the role', { status: 400, why: 'not-bound_ami_id' }, 'refused', 'role'],
  ['a role that is not there', { status: 400, why: 'no-role' }, 'refused', 'role'],
  ['an address', { status: 403, why: 'source-address' }, 'refused', 'role'],
  ['a signature', { status: 400, why: 'sts-refused' }, 'refused', 'proof'],
  ['fields that make no proof', { status: 400 }, 'refused', 'proof'],
  ['EC2 that throttles', { status: 503, why: 'throttled', service: 'ec2' }, 'failed', 'aws'],
  ['STS that fails', { status: 502, why: 'provider-failed', service: 'sts' }, 'failed', 'aws'],
  ['tables that do not answer', { status: 503 }, 'failed', 'service'],
  ['a fault of ours', { status: 500 }, 'failed', 'service'],
])('a login is counted by %s', (_, fault, outcome, reason) => {
  expect(classifyLogin(fault)).toEqual({ outcome, reason })
})

/** Names of all rules that refuse logins, as the sources have them. */
const rules = [
  'identity-proof',
  'auth-method/login',
  'auth-method/login-ec2',
  'auth-method/login-iam',
].flatMap(folder =>
  readdirSync(`${root}shared/${folder}`)
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => [
      ...readFileSync(`${root}shared/${folder}/${name}`, 'utf8').matchAll(
        /(?:refusal\(|why: )\s*['`]([a-z-]+)/g,
      ),
    ])
    .map(([, why = '']) => why),
)

test('every rule is one of the role or one of the proof, as this table says', () => {
  const of = (reason: string) =>
    [...new Set(rules)].filter(why => classifyLogin({ status: 400, why }).reason === reason).sort()
  expect(of('role')).toEqual([
    'document-older',
    'entity-disabled',
    'entry-damaged',
    'instance-lookup',
    'instance-not-running',
    'no-alias',
    'no-role',
    'nonce-length',
    'nonce-mismatch',
    'principal-lookup',
    'principal-not-bound',
    'principal-type',
    'reauthentication-disabled',
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
    'not-',
    'not-signed-data',
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

test('a login makes no more series than its row says, whatever strangers send', () => {
  const faults = [
    undefined,
    ...[400, 403, 404, 413, 429, 500, 502, 503].flatMap(status =>
      [undefined, ...rules].flatMap(why => [
        { status, why },
        { status, why, service: 'sts' },
      ]),
    ),
  ]
  const kinds = new Set(faults.map(fault => JSON.stringify(classifyLogin(fault))))
  // without a type nothing is proven, so roles and AWS are not asked; without tables it may fail
  const withType = kinds.size * 2
  const without = 3
  expect(withType + without).toBeLessThanOrEqual(metrics.Logins.series[1])
})

test.each([
  [{ pkcs7: 'x' }, 'ec2'],
  [{ identity: 'x' }, 'ec2'],
  [{ iam_request_url: 'x' }, 'iam'],
  [{ iam_http_request_method: 'POST', role: 'a' }, 'iam'],
  [{ role: 'a' }, 'none'],
])('%j looks like a login of type %s', (given, type) => expect(guessLoginType(given)).toBe(type))

describe('of the calls of a request', () => {
  test('those that AWS refused, or that failed, are measured by service', () => {
    expect(countProviderFaults({ dynamodb: 3, ec2: 4, 'ec2 throttled': 3, sts: 1, 'iam failed': 1 })).toEqual(
      {
        Ec2Throttles: 3,
        IamFailures: 1,
      },
    )
  })

  test('nothing is measured where all went well', () => {
    expect(countProviderFaults({ dynamodb: 2, sts: 1 })).toEqual({})
  })
})
