import { expect, test } from 'vitest'
import { findOtherTagger } from '../../../../shared/auth-method/review/trust-policy.ts'

const PODS = { Service: 'pods.eks.amazonaws.com' }
const ROOT = { AWS: 'arn:aws:iam::111122223333:root' }
const allow = (Principal: unknown, Action: unknown = 'sts:TagSession', more: object = {}) => ({
  Effect: 'Allow',
  Principal,
  Action,
  ...more,
})
const UNDER_CONDITION = { Condition: { StringEquals: { 'aws:RequestTag/team': 'a' } } }
const policyOf = (...Statement: unknown[]) => JSON.stringify({ Version: '2012-10-17', Statement })

test.each([
  ['EKS Pod Identity alone', policyOf(allow(PODS, ['sts:AssumeRole', 'sts:TagSession'])), undefined],
  ['one statement without a list', JSON.stringify({ Statement: allow(PODS) }), undefined],
  ['no statement', '{}', undefined],
  ['another principal that may not tag', policyOf(allow(PODS), allow(ROOT, 'sts:AssumeRole')), undefined],
  ['a denied principal', policyOf(allow(PODS), { ...allow(ROOT), Effect: 'Deny' }), undefined],
  [
    'all actions but tagging',
    policyOf({ Effect: 'Allow', Principal: ROOT, NotAction: 'sts:Tag*' }),
    undefined,
  ],
  ['another account', policyOf(allow(PODS), allow(ROOT)), ROOT.AWS],
  ['another account in a list', policyOf(allow({ ...PODS, AWS: ['a', 'b'] })), 'a'],
  [
    'another service',
    policyOf(allow({ Service: ['pods.eks.amazonaws.com', 'ec2.amazonaws.com'] })),
    'ec2.amazonaws.com',
  ],
  ['the name of the service as an account', policyOf(allow({ AWS: PODS.Service })), PODS.Service],
  ['everybody', policyOf(allow('*')), '*'],
  ['everybody but one', policyOf({ Effect: 'Allow', NotPrincipal: ROOT, Action: '*' }), 'everyone'],
  ['a pattern of actions', policyOf(allow(ROOT, 'STS:*Session')), ROOT.AWS],
  [
    'all actions but others',
    policyOf({ Effect: 'Allow', Principal: ROOT, NotAction: 'sts:AssumeRole' }),
    ROOT.AWS,
  ],
  ['a condition', policyOf(allow(ROOT, '*', UNDER_CONDITION)), `${ROOT.AWS} (under a condition)`],
  [
    'a condition for one of two principals',
    policyOf(allow(ROOT, '*', UNDER_CONDITION), allow({ AWS: 'a' })),
    'a',
  ],
  ['no JSON', 'x', 'a principal in a policy that cannot be read'],
  ['no object', '[]', 'a principal in a policy that cannot be read'],
])('a trust policy with %s', (_, policy, tagger) => {
  expect(findOtherTagger(policy)).toBe(tagger)
})
