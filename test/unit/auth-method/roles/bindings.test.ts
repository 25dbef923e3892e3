import { describe, expect, test } from 'vitest'
import {
  type BindingName,
  bindingNames,
  comparedBindingValue,
  type InstanceFacts,
  isBindingMet,
  isBindingSet,
  noBindings,
} from '../../../../shared/auth-method/roles/bindings.ts'
import { matchesPattern } from '../../../../shared/values/pattern.ts'

const facts: InstanceFacts = {
  account: '111122223333',
  region: 'eu-west-1',
  instance: {
    id: 'i-0123456789abcdef0',
    amiId: 'ami-1',
    vpcId: 'vpc-1',
    subnetId: 'subnet-1',
    profileArn: 'arn:aws:iam::111122223333:instance-profile/team/web',
    roleArn: 'arn:aws:iam::111122223333:role/team/web',
  },
}
const bare: InstanceFacts = { account: '', region: '', instance: { id: 'i-0123456789abcdef0' } }

type ListName = Exclude<BindingName, 'bound_tags'>
const listNames = bindingNames.filter((name): name is ListName => name !== 'bound_tags')

const values: Record<ListName, string> = {
  bound_region: 'eu-west-1',
  bound_ec2_instance_id: 'i-0123456789abcdef0',
  bound_account_id: '111122223333',
  bound_ami_id: 'ami-1',
  bound_subnet_id: 'subnet-1',
  bound_vpc_id: 'vpc-1',
  bound_iam_instance_profile_arn: 'arn:aws:iam::111122223333:instance-profile/team/web',
  bound_iam_role_arn: 'arn:aws:iam::111122223333:role/team/web',
}
const WILD: BindingName[] = ['bound_iam_instance_profile_arn', 'bound_iam_role_arn']
const met = (name: BindingName, bound: string[], seen = facts) =>
  isBindingMet(name, { ...noBindings, [name]: bound }, seen)

describe.each(listNames)('the binding %s', name => {
  const value = values[name]
  test('an empty list matches every instance', () => {
    expect(met(name, [])).toBe(true)
    expect(met(name, [], bare)).toBe(true)
  })

  test('one exactly equal value is enough', () => {
    expect(met(name, [value])).toBe(true)
    expect(met(name, ['other', value])).toBe(true)
    for (const wrong of [
      `${value}x`,
      `x${value}`,
      value.slice(0, -1),
      value.slice(1),
      value.toUpperCase().concat('!'),
      ` ${value}`,
      '',
    ]) {
      expect([wrong, met(name, [wrong])]).toEqual([wrong, false])
    }
  })

  test('a trailing * is a wildcard in ARN bindings, and a literal character elsewhere', () => {
    const wild = WILD.includes(name)
    expect(met(name, [`${value.slice(0, -1)}*`])).toBe(wild)
    expect(met(name, [`${value}*`])).toBe(wild)
    expect(met(name, ['*'])).toBe(wild)
    expect(met(name, [`*${value.slice(1)}`])).toBe(false)
    expect(met(name, [value.replace(/..$/, '*$&')])).toBe(false)
  })
})

test.each(listNames.filter(name => name !== 'bound_ec2_instance_id'))(
  'the binding %s rejects an instance that lacks the bound property',
  name => {
    expect(met(name, [values[name]], bare)).toBe(false)
    if (values[name].startsWith('arn')) expect(met(name, ['*'], bare)).toBe(false)
  },
)

test.each([
  ['arn:foo*', 'arn:foo', true],
  ['arn:foo*', 'arn:foobar', true],
  ['arn:foo**', 'arn:foo*', true],
  ['arn:foo**', 'arn:foo*bar', true],
  ['arn:foo**', 'arn:foo', false],
  ['arn:f*o', 'arn:f*o', true],
  ['arn:f*o', 'arn:fo', false],
  ['arn:f*o', 'arn:f*x', false],
  ['*foo', 'barfoo', false],
  ['*foo*', 'barfoo', false],
  ['', '', true],
  ['', 'x', false],
])(
  'matchesPattern(%j, %j) returns %s, because only one trailing * is a wildcard',
  (configured, value, expected) => {
    expect(matchesPattern(configured, value)).toBe(expected)
  },
)

describe('the binding bound_tags', () => {
  const tags = { Env: 'prod', Team: 'core/web', Empty: '' }
  const of = (seen: Record<string, string> | undefined): InstanceFacts => ({
    ...facts,
    instance: { ...facts.instance, ...(seen ? { tags: seen } : {}) },
  })

  test.each<[bound: Record<string, string[]>, tags: Record<string, string> | undefined, met: boolean]>([
    [{}, tags, true],
    [{}, undefined, true],
    [{ Env: ['prod'] }, tags, true],
    [{ Env: ['dev', 'prod'] }, tags, true],
    [{ Env: ['dev'] }, tags, false],
    [{ Env: ['prod'], Team: ['core/web'] }, tags, true],
    [{ Env: ['prod'], Team: ['core'] }, tags, false],
    [{ Env: ['prod'], Owner: ['me'] }, tags, false],
    [{ env: ['prod'] }, tags, false],
    [{ Env: ['Prod'] }, tags, false],
    [{ Env: ['pro*'] }, tags, true],
    [{ Env: ['*'] }, tags, true],
    [{ Empty: ['*'] }, tags, true],
    [{ Empty: [''] }, tags, true],
    [{ Empty: ['x', ''] }, tags, true],
    [{ Empty: ['x'] }, tags, false],
    [{ Env: [''] }, tags, false],
    [{ Owner: [''] }, tags, false],
    [{ Owner: [''] }, undefined, false],
    [{ Owner: ['*'] }, tags, false],
    [{ Env: ['*rod'] }, tags, false],
    [{ Env: ['p*d'] }, tags, false],
    [{ 'E*': ['prod'] }, tags, false],
    [{ Env: ['prod'] }, {}, false],
    [{ Env: ['*'] }, undefined, false],
    [{ toString: ['*'] }, {}, false],
    [{ constructor: ['*'] }, undefined, false],
  ])('bound_tags %j against the tags %j: %s', (bound, seen, met) => {
    expect(isBindingMet('bound_tags', { ...noBindings, bound_tags: bound }, of(seen))).toBe(met)
  })

  test('a role stored before bound_tags existed binds no tags', () => {
    const { bound_tags: _, ...old } = noBindings
    expect([isBindingSet('bound_tags', old), isBindingMet('bound_tags', old, of(tags))]).toEqual([
      false,
      true,
    ])
  })

  test('only bound tags are reported', () => {
    const bound = { ...noBindings, bound_tags: { Env: ['x'], Owner: ['y'] } }
    expect(comparedBindingValue('bound_tags', bound, of(tags))).toEqual({ Env: 'prod', Owner: null })
  })
})
