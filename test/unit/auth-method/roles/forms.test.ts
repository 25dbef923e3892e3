import { describe, expect, test } from 'vitest'
import { type BindingName, bindingNames, noBindings } from '../../../../shared/auth-method/roles/bindings.ts'
import { warnAboutBinding } from '../../../../shared/auth-method/roles/forms.ts'
import { plan, rawEc2, rawIam } from '../../../builders/role-plans.ts'

const ACCOUNT = '111122223333'
const HEX = '0123456789abcdef0'
const profile = `arn:aws:iam::${ACCOUNT}:instance-profile`
const role = `arn:aws:iam::${ACCOUNT}:role`

const EXAMPLES: Record<BindingName, string> = {
  bound_region: 'us-east-1',
  bound_ec2_instance_id: `i-${HEX}`,
  bound_account_id: ACCOUNT,
  bound_ami_id: `ami-${HEX}`,
  bound_subnet_id: `subnet-${HEX}`,
  bound_vpc_id: `vpc-${HEX}`,
  bound_iam_instance_profile_arn: `${profile}/path/name`,
  bound_iam_role_arn: `${role}/path/name`,
  bound_tags: 'prod, or prod* for every value that begins with prod',
}

/** Valid values for each binding of a role; for tags, values of one tag key. */
const FIT: Record<BindingName, string[]> = {
  bound_region: ['us-east-1', 'cn-north-1', 'us-gov-west-1', 'eusc-de-east-1', 'xx-nowhere-99'],
  bound_ec2_instance_id: [`i-${HEX}`, 'i-01234567'],
  bound_account_id: [ACCOUNT, '000000000000'],
  bound_ami_id: [`ami-${HEX}`, 'ami-01234567', `ami-${HEX}${HEX}`],
  bound_subnet_id: [`subnet-${HEX}`],
  bound_vpc_id: [`vpc-${HEX}`],
  bound_iam_instance_profile_arn: [
    `${profile}/web`,
    `${profile}/team/web`,
    `${profile}/team/we*`,
    `${profile}/*`,
    `${profile}*`,
    `arn:aws:iam::${ACCOUNT}:inst*`,
    `arn:aws:iam::${ACCOUNT}:*`,
    'arn:aws:iam::1111*',
    'arn:aws-c*',
    '*',
  ],
  bound_iam_role_arn: [`${role}/web`, `${role}/a/b/web`, `${role}/w*`, 'arn:aws-cn:iam::*', '*'],
  bound_tags: ['', 'prod', 'pro*', '*', 'a b', 'x'.repeat(256), `${'x'.repeat(256)}*`],
}

/** Invalid values for each binding of a role. */
const WRONG: Record<BindingName, string[]> = {
  bound_region: ['us-east-1a', 'US-EAST-1', 'us-west-2-lax-1', 'us-east-*', 'useast1', '["us-east-1"'],
  bound_ec2_instance_id: [`ami-${HEX}`, `I-${HEX}`, HEX, 'i-*', `i-${HEX}x`, `["i-${HEX}"]`],
  bound_account_id: ['11112', '1111-2222-3333', `${ACCOUNT}4`, `arn:aws:iam::${ACCOUNT}:root`, '*'],
  bound_ami_id: [`vpc-${HEX}`, 'my-image', `ami-${HEX.toUpperCase()}`, 'ami-0123*'],
  bound_subnet_id: [`vpc-${HEX}`, `subnet-${HEX}*`],
  bound_vpc_id: [`subnet-${HEX}`, `arn:aws:ec2:us-east-1:${ACCOUNT}:vpc/vpc-${HEX}`],
  bound_iam_instance_profile_arn: [
    `${role}/web`,
    `${role}/w*`,
    'web',
    `${profile}/te*m/web`,
    `${profile}/te*m/*`,
    `arn:aws:iam::11112:instance-profile/web`,
    'arn:aws:iam::11112:*',
    `arn:aws:sts::${ACCOUNT}:*`,
    `["${profile}/web"]`,
  ],
  bound_iam_role_arn: [
    `${profile}/web`,
    `${profile}/w*`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/web/s-1`,
    `arn:aws:iam::${ACCOUNT}:user/web`,
    `arn:aws:iam::${ACCOUNT}:rule/w*`,
    `arn:aws:iam::${ACCOUNT}:root`,
  ],
  bound_tags: ['["prod"', '"dev"]', '{"a": 1}', 'pr*d', 'p*r*', 'x'.repeat(257)],
}

const warningsOf = (name: BindingName, values: string[]) =>
  warnAboutBinding(name, { ...noBindings, [name]: name === 'bound_tags' ? { Env: values } : values })
const labelOf = (name: BindingName) => (name === 'bound_tags' ? 'bound_tags: "Env"' : name)

describe.each(bindingNames)('the form of %s values', name => {
  test('existing values cause no warning', () => {
    expect(warningsOf(name, FIT[name])).toEqual([])
    expect(warningsOf(name, [])).toEqual([])
  })

  test.each(WRONG[name])('%s causes a warning with an example value', value => {
    const [warning = '', ...others] = warningsOf(name, [...FIT[name], value])
    expect(others).toEqual([])
    const shown = JSON.stringify(value.slice(0, 80))
    const start = `${labelOf(name)}: ${shown} can match nobody; a value looks like ${EXAMPLES[name]}`
    const hint = value.slice(0, -1).includes('*') ? '; a * counts as a wildcard only at the end' : ''
    expect(warning).toBe(start + hint)
  })
})

test('many invalid values cause one warning with the first five', () => {
  const wrong = Array.from({ length: 7 }, (_, at) => `vpc-${at}`)
  expect(warningsOf('bound_subnet_id', wrong)).toEqual([
    `bound_subnet_id: "vpc-0", "vpc-1", "vpc-2", "vpc-3", "vpc-4" and 2 more can match nobody; a value looks like subnet-${HEX}`,
  ])
})

test('the role is stored with the warnings of all bindings', () => {
  const { role: stored, warnings } = plan({
    ...rawEc2,
    bound_region: 'us-east-1a',
    bound_subnet_id: `vpc-${HEX}`,
  })
  expect(stored.bound.bound_region).toEqual(['us-east-1a'])
  expect(warnings.map(text => text.split(':')[0])).toEqual(['bound_region', 'bound_subnet_id'])
})

test.each([
  [`arn:aws:iam::${ACCOUNT}:role/w*`, false],
  [`arn:aws:iam::${ACCOUNT}:user/team/*`, false],
  [`arn:aws:iam::${ACCOUNT}:*`, false],
  [`arn:aws:iam::${ACCOUNT}:group/w*`, true],
  [`arn:aws:iam::${ACCOUNT}:instance-profile/w*`, true],
  [`arn:aws:iam::${ACCOUNT}:role/te*m/w*`, true],
])('the principal %s causes the warning %s', (bound, expected) => {
  const { warnings } = plan({ ...rawIam, bound_iam_principal_arn: bound })
  expect(warnings.filter(text => text.startsWith('bound_iam_principal_arn')).length > 0).toBe(expected)
})
