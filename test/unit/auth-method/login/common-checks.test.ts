import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import {
  createFailedVerdict,
  enforceChecks,
  type LoginCheck,
  reportVerdicts,
} from '../../../../shared/auth-method/login/checks.ts'
import {
  type CommonLoginFacts,
  commonLoginChecks,
} from '../../../../shared/auth-method/login/common-checks.ts'
import { ec2Role } from '../../../builders/roles.ts'

const usual: CommonLoginFacts = {
  type: 'ec2',
  roleName: 'dev',
  role: ec2Role(),
  source: '10.0.0.1',
  aliasName: 'alias',
}

/** Returns code, reason and text of the first check that fails. */
function refused(parts: Partial<CommonLoginFacts>): unknown[] {
  try {
    enforceChecks(commonLoginChecks, { ...usual, ...parts })
    return []
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.reason?.['why'], error.message] : [error]
  }
}

describe('checks of both login types', () => {
  const inTen = ec2Role({ token: { boundCidrs: ['10.0.0.0/8'] } })
  const source = ['permission_denied', 'source-address', '']
  test.each<[string, Partial<CommonLoginFacts>, unknown[]]>([
    ['a role without networks', {}, []],
    ['an address inside', { role: inTen }, []],
    ['the same address as IPv6', { role: inTen, source: '::ffff:10.0.0.1' }, []],
    ['an address outside', { role: inTen, source: '192.0.2.1' }, source],
    ['no address', { role: inTen, source: '' }, source],
    ['an IPv4 address and all of IPv6', { role: ec2Role({ token: { boundCidrs: ['::/0'] } }) }, source],
    [
      'the other type',
      { type: 'iam' },
      ['invalid_request', 'role-type', 'iam login is not allowed for role "dev"'],
    ],
    [
      'root among the policies',
      { role: ec2Role({ token: { policies: ['dev', 'RooT '] } }) },
      ['invalid_request', 'root-policy', 'a login may not issue root tokens'],
    ],
    [
      'no name for the alias',
      { aliasName: '' },
      ['invalid_request', 'no-alias', 'the login has no value for the alias set in config/identity'],
    ],
    [
      'the wrong address and the wrong type: the address',
      { role: inTen, source: '192.0.2.1', type: 'iam' },
      source,
    ],
  ])('%s', (_, parts, expected) => {
    expect(refused(parts)).toEqual(expected)
  })
})

describe('running the checks', () => {
  const check = (name: string, refuses: boolean): LoginCheck<number> => ({
    name,
    seen: facts => facts,
    wanted: facts => facts + 1,
    refuse: () =>
      refuses ? { code: 'invalid_request', why: `why-${name}`, text: `text ${name}` } : undefined,
  })
  const skipped: LoginCheck<number> = { ...check('skipped', true), applies: () => false }

  test('enforceChecks throws at the first failed check, with its value for the audit log', () => {
    const run = () => enforceChecks([check('a', false), skipped, check('b', true), check('c', true)], 7)
    expect(run).toThrow(
      expect.objectContaining({ message: 'text b', reason: { why: 'why-b', check: 'b', seen: 7 } }),
    )
  })

  test('reportVerdicts returns every verdict, in order', () => {
    expect(reportVerdicts([check('a', false), skipped, check('b', true)], 7)).toEqual([
      { check: 'a', verdict: 'pass', seen: 7, wanted: 8 },
      { check: 'skipped', verdict: 'not required', seen: 7 },
      { check: 'b', verdict: 'fail', reason: 'why-b', message: 'text b', seen: 7, wanted: 8 },
    ])
  })

  test('a failed check with permission_denied has the text permission denied', () => {
    expect(createFailedVerdict('x', { code: 'permission_denied', why: 'y', text: 'secret' }).message).toBe(
      'permission denied',
    )
  })
})
