import { describe, expect, test } from 'vitest'
import { enforceChecks, reportVerdicts } from '../../../../shared/auth-method/login/checks.ts'
import {
  decideEc2Login,
  ec2ChecksAfterLookUp,
  ec2ChecksBeforeLookUp,
} from '../../../../shared/auth-method/login-ec2/decide.ts'
import type { CompleteEc2Facts } from '../../../../shared/auth-method/login-ec2/facts.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { accessItem, documentOf, ec2Facts, tagOf, usualInstance } from '../../../builders/ec2-facts.ts'
import { ec2Role, iamRole } from '../../../builders/roles.ts'

const reasons = (parts: Partial<CompleteEc2Facts>) => {
  const facts = ec2Facts(parts)
  return [
    ...reportVerdicts(ec2ChecksBeforeLookUp, facts),
    ...reportVerdicts(ec2ChecksAfterLookUp, facts),
  ].flatMap(({ reason }) => reason ?? [])
}
const early = (parts: Partial<CompleteEc2Facts>) =>
  reportVerdicts(ec2ChecksBeforeLookUp, ec2Facts(parts)).flatMap(({ reason }) => reason ?? [])
const decide = (parts: Partial<CompleteEc2Facts> = {}) =>
  decideEc2Login(
    enforceChecks(ec2ChecksAfterLookUp, enforceChecks(ec2ChecksBeforeLookUp, ec2Facts(parts))),
    'auth/cloud/login',
  )

describe('checks of an ec2 login', () => {
  test('a login that satisfies every check passes', () => {
    expect(reasons({})).toEqual([])
  })

  const bound = (name: string, value: string) => ec2Role({ bound: { [name]: [value] } })
  test.each<[string, Partial<CompleteEc2Facts>, string[]]>([
    [
      'an address outside the role’s networks',
      { role: ec2Role({ token: { boundCidrs: ['10.0.0.0/8'] } }) },
      ['source-address'],
    ],
    ['a role for iam logins', { role: iamRole() }, ['role-type']],
    ['a role of root', { role: ec2Role({ token: { policies: ['dev', ' ROOT'] } }) }, ['root-policy']],
    ['a login without name for its alias', { aliasName: '' }, ['no-alias']],
    ['an instance that EC2 does not know', { instance: undefined }, ['instance-not-running']],
    [
      'another instance than the one asked for',
      { instance: { ...usualInstance, id: 'i-11111111' } },
      ['instance-not-running'],
    ],
    ['a stopped instance', { instance: { ...usualInstance, state: 'stopped' } }, ['instance-not-running']],
    ['a pending instance', { instance: { ...usualInstance, state: 'pending' } }, ['instance-not-running']],
    ['an instance without state', { instance: { ...usualInstance, state: '' } }, ['instance-not-running']],
    ['another AMI', { role: bound('bound_ami_id', 'ami-1') }, ['not-bound_ami_id']],
    ['another VPC', { role: bound('bound_vpc_id', 'vpc-2') }, ['not-bound_vpc_id']],
    ['a role with a tag', { role: ec2Role({ roleTag: 'Tag' }) }, ['role-tag-missing']],
  ])('%s is rejected', (_, parts, expected) => {
    expect(reasons(parts)).toEqual(expected)
  })

  test('a document of another region or account is rejected before the call to EC2', () => {
    expect(early({ role: bound('bound_region', 'us-east-1') })).toEqual(['not-bound_region'])
    expect(early({ role: bound('bound_account_id', '444455556666') })).toEqual(['not-bound_account_id'])
  })

  test("the AMI is checked against EC2's answer, not against the document", () => {
    const role = bound('bound_ami_id', 'ami-0123456789abcdef0')
    expect(reasons({ role })).toEqual([])
    const { amiId: _, ...unknown } = usualInstance
    expect(reasons({ role, instance: unknown })).toEqual(['not-bound_ami_id'])
    expect(reasons({ role, instance: { ...usualInstance, amiId: 'ami-2' } })).toEqual(['not-bound_ami_id'])
  })

  test('reauthentication is checked before the call to EC2, except for what a role tag decides', () => {
    const entry = accessItem()
    const entryNonce = new Secret('right')
    expect(early({ entry, entryNonce })).toEqual(['nonce-mismatch'])
    expect(early({ entry, entryNonce, sentNonce: 'right' })).toEqual([])
    expect(early({ entry: accessItem({ disallowReauthentication: true }) })).toEqual([
      'reauthentication-disabled',
    ])
    expect(early({ sentNonce: 'x'.repeat(129) })).toEqual([])
    expect(reasons({ sentNonce: 'x'.repeat(129) })).toEqual(['nonce-length'])
  })

  test('a too long nonce is rejected after the tag check, unless reauthentication is disabled', () => {
    const returning = { entry: accessItem(), entryNonce: new Secret('right'), sentNonce: 'x'.repeat(129) }
    expect(early(returning)).toEqual([])
    expect(early({ ...returning, role: ec2Role({ disallowReauthentication: true }) })).toEqual([
      'nonce-mismatch',
    ])
  })
})

describe('checks of the role tag', () => {
  const role = ec2Role({ roleTag: 'Tag' })
  const { tag: _, ...unreadable } = tagOf()
  test.each<[string, CompleteEc2Facts['tag'], string[]]>([
    ['missing', undefined, ['role-tag-missing']],
    ['without value', { value: '', genuine: false, denied: false }, ['role-tag-missing']],
    ['of another format', { ...unreadable, genuine: false }, ['role-tag-format']],
    [
      'of another role',
      { ...tagOf(), tag: { ...(tagOf().tag ?? expect.fail()), role: 'prod' } },
      ['role-tag-role'],
    ],
    ['not signed', tagOf('', { genuine: false }), ['role-tag-signature']],
    ['for another instance', tagOf(':i=i-11111111'), ['role-tag-instance']],
    ['for this instance', tagOf(':i=i-0123456789abcdef0'), []],
    ['denied', tagOf('', { denied: true }), ['role-tag-denied']],
    ['with the role’s policies', tagOf(':p=dev,prod'), []],
    ['with default', tagOf(':p=default'), []],
    ['with more policies', tagOf(':p=dev,other'), ['role-tag-policies']],
    ['with no policies', tagOf(), []],
  ])('%s', (_, tag, expected) => {
    expect(reasons({ role, ...(tag ? { tag } : {}) })).toEqual(expected)
  })

  test('tag policies are compared in normalised form', () => {
    const cased = ec2Role({ roleTag: 'Tag', token: { policies: [' Dev ', 'PROD'] } })
    expect(reasons({ role: cased, tag: tagOf(':p=dev,prod') })).toEqual([])
  })

  test('the role does not include default if it excludes the default policy', () => {
    const bare = ec2Role({ roleTag: 'Tag', token: { noDefaultPolicy: true } })
    expect(reasons({ role: bare, tag: tagOf(':p=default') })).toEqual(['role-tag-policies'])
    const named = ec2Role({ roleTag: 'Tag', token: { noDefaultPolicy: true, policies: ['default'] } })
    expect(reasons({ role: named, tag: tagOf(':p=default') })).toEqual([])
  })

  test("a role without role tags ignores the instance's tag", () => {
    expect(reasons({ tag: tagOf('', { denied: true }) })).toEqual([])
  })
})

describe('the grant of an ec2 login', () => {
  test("a first login gets a token with the role's parameters", () => {
    expect(decide().grant).toEqual({
      path: 'auth/cloud/login',
      login: {
        authType: 'ec2',
        role: 'dev',
        roleId: ec2Role().roleId,
        account: '111122223333',
        region: 'eu-west-1',
        instanceId: usualInstance.id,
        entryCreatedAt: 50_000,
        tagMaxTtl: 0,
      },
      displayName: '',
      metadata: { role: 'dev', role_tag_max_ttl: '0s', account_id: '111122223333', auth_type: 'ec2' },
      disclosed: { nonce: 'fresh' },
      alias: { name: 'alias', metadata: { account_id: '111122223333', auth_type: 'ec2' } },
      terms: { ...ec2Role().token, policies: ['dev', 'prod'], maxTtl: 1000 },
      source: '192.0.2.1',
    })
  })

  test("a first login creates an entry for the mount's maximum TTL, and returns its nonce", () => {
    const { entry, nonce } = decide()
    expect(nonce).toBe('fresh')
    expect(entry).toEqual({
      role: 'dev',
      disallowReauthentication: false,
      pendingTime: '2026-03-01T10:20:30Z',
      createdAt: 50_000,
      updatedAt: 50_000,
      expiresAt: 50_000 + 1_000_000,
    })
  })

  test('a repeated login keeps the role, creation time and nonce of its entry', () => {
    const stored = {
      entry: accessItem({ role: 'first' }),
      entryNonce: new Secret('right'),
      sentNonce: 'right',
    }
    const document = documentOf({ pendingTime: '2026-03-01T10:20:31Z' })
    const { entry, nonce, grant } = decide({ ...stored, document })
    expect(nonce).toBe('right')
    expect(grant.disclosed).toEqual({})
    expect(entry).toMatchObject({
      role: 'first',
      createdAt: 1000,
      updatedAt: 50_000,
      pendingTime: document.pendingTime,
    })
    expect(grant.login.entryCreatedAt, 'of the entry, not of this login').toBe(1000)
  })

  test.each<[string, Partial<CompleteEc2Facts>]>([
    ['by the role', { role: ec2Role({ disallowReauthentication: true }) }],
    ['by the client', { sentNonce: '' }],
    ['by the role tag', { role: ec2Role({ roleTag: 'Tag' }), tag: disallowing() }],
  ])('with reauthentication disabled %s, no nonce is stored or returned', (_, parts) => {
    const { entry, nonce, grant } = decide(parts)
    expect([entry.disallowReauthentication, nonce, grant.disclosed]).toEqual([true, '', {}])
  })

  test.each([
    [0, 0, 1000, 1000],
    [600, 0, 600, 1000],
    [5000, 0, 1000, 5000],
    [0, 300, 300, 1000],
    [600, 300, 300, 1000],
    [300, 600, 300, 1000],
    [0, 7000, 1000, 7000],
    [600, 7000, 600, 7000],
    [5000, 7000, 1000, 7000],
  ])(
    'role %i s, tag %i s, mount 1000 s: at most %i s, entry for %i s',
    (maxTtl, tagMax, shortest, longest) => {
      const role = ec2Role({ roleTag: 'Tag', token: { maxTtl } })
      const { grant, entry } = decide({ role, tag: tagOf(tagMax === 0 ? '' : `:t=${tagMax}`) })
      expect(grant.terms.maxTtl).toBe(shortest)
      expect(entry.expiresAt).toBe(50_000 + longest * 1000)
      expect(grant.login.tagMaxTtl).toBe(tagMax)
    },
  )

  test("the tag's max_ttl is formatted as Go prints durations", () => {
    const role = ec2Role({ roleTag: 'Tag' })
    expect(decide({ role, tag: tagOf(':t=3900') }).grant.metadata['role_tag_max_ttl']).toBe('1h5m0s')
  })

  test("policies in the tag replace the role's policies", () => {
    const role = ec2Role({ roleTag: 'Tag' })
    expect(decide({ role, tag: tagOf(':p=dev') }).grant.terms.policies).toEqual(['dev'])
    expect(decide({ role, tag: tagOf() }).grant.terms.policies).toEqual(['dev', 'prod'])
  })

  test('only selected, non-empty metadata is returned', () => {
    const identity = {
      ...ec2Facts().identity,
      ec2Metadata: ['ami_id', 'instance_id', 'region'],
    }
    const { grant } = decide({ identity, document: documentOf({ imageId: '' }) })
    const chosen = { instance_id: usualInstance.id, region: 'eu-west-1' }
    expect(grant.alias.metadata).toEqual(chosen)
    expect(grant.metadata).toEqual({ role: 'dev', role_tag_max_ttl: '0s', ...chosen })
  })
})

function disallowing() {
  const tag = tagOf()
  return { ...tag, tag: { ...(tag.tag ?? expect.fail()), disallowReauthentication: true } }
}
