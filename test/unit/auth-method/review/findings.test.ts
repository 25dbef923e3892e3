import { expect, test } from 'vitest'
import { createReviewFindings } from '../../../../shared/auth-method/review/findings.ts'
import { ec2Role, iamRole } from '../../../builders/roles.ts'

const open = { role: ec2Role({ bound: { bound_account_id: ['1'] } }), lifeSeconds: 3600 }

test('findings are sorted by severity, rule and subject', () => {
  const review = createReviewFindings()
  const named = { role: iamRole({ resolveAwsUniqueIds: false }), lifeSeconds: 3600 }
  review.judge('role', 'role/c', named)
  review.judge('role', 'role/b', open)
  review.judge('role', 'role/a', open)
  review.judge('satellite', 'config/sts/1', { account: '1', externalId: '' })
  const { findings } = review.report(new Map())
  expect(findings.map(({ rule, subject }) => [rule, subject])).toEqual([
    ['no-external-id', 'config/sts/1'],
    ['whole-account', 'role/a'],
    ['whole-account', 'role/b'],
    ['no-nonce', 'role/a'],
    ['no-nonce', 'role/b'],
    ['by-name', 'role/c'],
  ])
})

test('a rule whose source was not looked at as a whole is not clean', () => {
  const review = createReviewFindings()
  review.judge('role', 'role/a', open)
  const { rules } = review.report(
    new Map([
      ['roles', 'the time was up after 7 items'],
      ['iam', 'ask_aws is not set'],
    ]),
  )
  const why = 'the time was up after 7 items'
  const of = (name: string) => rules.find(({ rule }) => rule === name)
  expect(of('no-nonce')).toEqual({ rule: 'no-nonce', severity: 'medium', verdict: 'found', findings: 1, why })
  expect(of('by-name')).toMatchObject({ verdict: 'not asked', findings: 0, why })
  expect(of('no-external-id')).toEqual({
    rule: 'no-external-id',
    severity: 'high',
    verdict: 'clean',
    findings: 0,
  })
  expect(of('session-tags')).toMatchObject({ verdict: 'not asked', why: 'ask_aws is not set' })
})

test('a report has at most 1,000 findings, and counts all of them', () => {
  const review = createReviewFindings()
  for (let index = 0; index < 1500; index++) review.judge('role', `role/${index}`, open)
  const { findings, rules } = review.report(new Map())
  expect(findings).toHaveLength(1000)
  expect(rules.find(({ rule }) => rule === 'no-nonce')).toMatchObject({ verdict: 'found', findings: 1500 })
})
