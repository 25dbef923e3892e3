import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../shared/api/call.ts'
import type { TokenRole } from '../../../shared/model/token-role.ts'
import { noAccessAcl } from '../../../shared/policies/access.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { createTokenWithRole, readTokenRole, writeTokenRole } from '../../../shared/tokens/token-role.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { authIn, callWith, dataIn } from '../../support/requests/call.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { termsOfBoth } from '../endpoints/interface.ts'
import { access } from '../policies/support.ts'
import { parentOf, rootToken, token } from './support.ts'

const subjectKey = key('token-role', 'ci')

/** Returns the role that a write stores. */
const written = (given: object, stored?: TokenRole): TokenRole => {
  const subject = stored && { ...subjectKey, rev: 'r1', data: stored }
  const [change] = writeTokenRole(callWith({ subjectKey, parameters: given, subject })).changes ?? []
  return (change as { data: TokenRole }).data
}

/** Creates a token with a role. Privileged callers have sudo on all paths. */
async function made(
  role: object,
  given: object,
  { own = ['default', 'dev'], sudo = false, root = false } = {},
) {
  const parent = root ? rootToken : token({ policies: own })
  const caller: Caller = {
    ...parentOf(parent),
    text: new Secret('hvs.parent'),
    rights: root ? { root: true, rules: [] } : sudo ? access({ '*': 'update sudo' }) : noAccessAcl,
    identityPolicies: [],
  }
  const subject: Item<'token-role'> = { ...subjectKey, rev: 'r1', data: written(role) }
  const ports = {
    entropy: { bytes: (length: number) => Buffer.alloc(length, 7) },
    store: memoryStore().as('tokens'),
  }
  const request = { path: 'auth/token/create/ci' }
  const { answer, changes } = await createTokenWithRole(
    callWith({ subjectKey, parameters: given, subject, caller, ports, request }),
  )
  return {
    auth: authIn({ answer }),
    stored: (changes?.[0] as { data: object } | undefined)?.data,
  }
}

describe('writing a token role', () => {
  test('a role without parameters stores the defaults', () => {
    const subject = { ...subjectKey, rev: 'r1', data: written({}) }
    expect(readTokenRole(callWith({ subjectKey, subject })).answer).toEqual({
      kind: 'data',
      data: {
        name: 'ci',
        allowed_policies: [],
        disallowed_policies: [],
        allowed_policies_glob: [],
        disallowed_policies_glob: [],
        orphan: false,
        renewable: true,
        path_suffix: '',
        ...termsOfBoth,
        token_type: 'default-service',
        allowed_entity_aliases: [],
        period: 0,
        explicit_max_ttl: 0,
      },
    })
  })

  test.each<[name: string, writes: object[], reads: object, missing: string[]]>([
    [
      'deprecated names read back under both names',
      [{ period: 60, explicit_max_ttl: 90, bound_cidrs: ['10.0.0.1'] }],
      {
        period: 60,
        token_period: 60,
        explicit_max_ttl: 90,
        token_explicit_max_ttl: 90,
        bound_cidrs: ['10.0.0.1'],
        token_bound_cidrs: ['10.0.0.1'],
      },
      [],
    ],
    [
      'current names alone leave the deprecated ones at 0',
      [
        { period: 60, explicit_max_ttl: 90, bound_cidrs: ['10.0.0.1'] },
        { token_period: 30, token_explicit_max_ttl: 40, token_bound_cidrs: ['10.0.0.2'] },
      ],
      { period: 0, token_period: 30, explicit_max_ttl: 0, token_explicit_max_ttl: 40 },
      ['bound_cidrs'],
    ],
    [
      'what was read can be written',
      [{ token_period: 60, period: 0, token_explicit_max_ttl: 90, explicit_max_ttl: 0 }],
      { period: 0, token_period: 60, explicit_max_ttl: 0, token_explicit_max_ttl: 90 },
      [],
    ],
    [
      'a deprecated 0 alone says 0',
      [{ token_period: 60 }, { period: 0 }],
      { period: 0, token_period: 0 },
      [],
    ],
  ])('%s', (_, writes, reads, missing) => {
    const stored = writes.reduce<TokenRole | undefined>((before, given) => written(given, before), undefined)
    const subject = { ...subjectKey, rev: 'r1', data: stored }
    const data = dataIn(readTokenRole(callWith({ subjectKey, subject })))
    expect(data).toMatchObject(reads)
    for (const name of missing) expect(data).not.toHaveProperty(name)
  })

  test('policy lists of a token role keep other names next to root', () => {
    const role = { disallowed_policies: ['Root', 'admin'], disallowed_policies_glob: ['root', ' ADM* '] }
    expect(written(role)).toMatchObject({
      disallowedPolicies: ['admin', 'root'],
      disallowedGlobs: ['adm*', 'root'],
    })
  })

  test('each pattern in a list of names causes a warning, in a list of patterns none', () => {
    const given = {
      allowed_policies: ['a*', 'b'],
      disallowed_policies: ['*admin*'],
      allowed_policies_glob: ['*x*'],
      disallowed_policies_glob: ['*'],
    }
    expect(writeTokenRole(callWith({ subjectKey, parameters: given })).answer.warnings).toEqual([
      'allowed_policies: "a*" is the name of one policy; patterns belong in allowed_policies_glob',
      'disallowed_policies: "*admin*" is the name of one policy; patterns belong in disallowed_policies_glob',
    ])
  })

  test('omitted fields keep their values', () => {
    const before = written({
      allowed_policies: ['Dev', 'dev'],
      orphan: true,
      token_period: 60,
      path_suffix: 'x',
    })
    expect(before).toMatchObject({ allowedPolicies: ['dev'], orphan: true, pathSuffix: 'x' })
    expect(written({ renewable: false }, before)).toEqual({ ...before, renewable: false })
    expect(written({ allowed_policies: [] }, before)).toEqual({ ...before, allowedPolicies: [] })
  })

  test.each([
    ['period', { period: 60 }, { period: 60 }],
    ['explicit_max_ttl', { explicit_max_ttl: 60 }, { explicitMaxTtl: 60 }],
    ['bound_cidrs', { bound_cidrs: ['10.0.0.1'] }, { boundCidrs: ['10.0.0.1'] }],
    ['the current name first', { period: 60, token_period: 30 }, { period: 30 }],
  ])('deprecated names: %s', (_, given, expected) => {
    expect(written(given).token).toMatchObject(expected)
  })

  test.each([
    ['aliases of entities', { allowed_entity_aliases: ['ci'] }, 'allowed_entity_aliases is not supported'],
    ['a path suffix with a slash', { path_suffix: 'a/b' }, 'path_suffix'],
    ['a network that is none', { token_bound_cidrs: ['10.0.0.0/33'] }, 'token_bound_cidrs'],
    ['negative uses', { token_num_uses: -1 }, 'token_num_uses'],
    ['a type that is none', { token_type: 'default-thing' }, 'token_type'],
    ['batch with a period', { token_type: 'batch', token_period: 60 }, 'batch tokens'],
    ['a period above the system’s maximum', { token_period: 2_764_801 }, 'token_period'],
  ])('%s is rejected', (_, given, message) => expect(() => written(given)).toThrow(message))
})

describe('policies of tokens created with a token role', () => {
  test.each<[name: string, role: object, wanted: string[], caller: object, expected: string[]]>([
    ['an open role: the caller’s', {}, [], {}, ['default', 'dev']],
    ['an open role: some of the caller’s', {}, ['dev'], {}, ['default', 'dev']],
    ['an open role: any, with sudo', {}, ['ops'], { sudo: true }, ['default', 'ops']],
    ['an open role: any, by root', {}, ['ops'], { root: true }, ['default', 'ops']],
    ['the allowed ones', { allowed_policies: ['a', 'b'] }, [], {}, ['a', 'b', 'default']],
    ['one of the allowed', { allowed_policies: ['a', 'b'] }, ['B'], {}, ['b', 'default']],
    [
      'one that a pattern allows',
      { allowed_policies_glob: ['team-*'] },
      ['team-x'],
      {},
      ['default', 'team-x'],
    ],
    ['a pattern alone gives nothing by itself', { allowed_policies_glob: ['team-*'] }, [], {}, ['default']],
    ['an allowed one that the caller lacks', { allowed_policies: ['ops'] }, ['ops'], {}, ['default', 'ops']],
    ['default by name', { allowed_policies: ['a'] }, ['a', 'default'], {}, ['a', 'default']],
    [
      'without default by the role',
      { allowed_policies: ['a'], token_no_default_policy: true },
      [],
      {},
      ['a'],
    ],
    [
      'without default, for it is disallowed',
      { allowed_policies: ['a'], disallowed_policies: ['default'] },
      [],
      {},
      ['a'],
    ],
    ['the caller’s, by root: root', {}, [], { root: true }, ['root']],
    ['root by root', {}, ['Root'], { root: true }, ['root']],
    ['a name with a star, exactly', { allowed_policies: ['a*'] }, ['a*'], {}, ['a*', 'default']],
    [
      'one that a pattern with several stars allows',
      { allowed_policies_glob: ['*Team*-r?'] },
      ['my-team-x-r?'],
      {},
      ['default', 'my-team-x-r?'],
    ],
    ['the same by a pattern', { allowed_policies: ['a'], disallowed_policies_glob: ['def*'] }, [], {}, ['a']],
  ])('%s', async (_, role, policies, caller, expected) => {
    expect((await made(role, { policies }, caller)).auth['policies']).toEqual(expected)
  })

  test.each<[name: string, role: object, wanted: string[], caller: object, message: string]>([
    ['beyond the caller’s, under an open role', {}, ['ops'], {}, 'subset of parent'],
    ['beyond the allowed', { allowed_policies: ['a'] }, ['b'], {}, 'b is not'],
    ['beyond the allowed, even by root', { allowed_policies: ['a'] }, ['b'], { root: true }, 'b is not'],
    ['beyond the pattern', { allowed_policies_glob: ['team-*'] }, ['tea'], {}, 'tea is not'],
    ['disallowed by name', { allowed_policies: ['a'], disallowed_policies: ['a'] }, ['a'], {}, 'disallowed'],
    ['disallowed by pattern', { disallowed_policies_glob: ['d*'] }, ['dev'], {}, 'disallowed'],
    ['disallowed, with sudo', { disallowed_policies: ['ops'] }, ['ops'], { sudo: true }, 'disallowed'],
    [
      'default, where the role leaves it out',
      { allowed_policies: ['a'], token_no_default_policy: true },
      ['default'],
      {},
      'default is not',
    ],
    ['default, where it is disallowed', { disallowed_policies: ['default'] }, ['default'], {}, 'disallowed'],
    [
      'root, though allowed',
      { allowed_policies: ['root'] },
      ['root'],
      { root: true },
      'cannot give the policy root',
    ],
    [
      'root from root, where names are listed',
      { disallowed_policies: ['x'] },
      [],
      { root: true },
      'cannot give',
    ],
    [
      'root from root, where patterns are listed',
      { allowed_policies_glob: ['*'] },
      ['root'],
      { root: true },
      'cannot',
    ],
    ['root under an open role, with sudo', {}, ['root'], { sudo: true }, 'parent token being root'],
    ['a leading star', { disallowed_policies_glob: ['*admin'] }, ['my-admin'], { sudo: true }, 'disallowed'],
    ['stars around', { disallowed_policies_glob: ['*ADMIN*'] }, ['my-Admin-2'], { sudo: true }, 'disallowed'],
    ['a star within', { disallowed_policies_glob: ['ad*in'] }, ['admin'], { sudo: true }, 'disallowed'],
    ['beyond a name with a star', { allowed_policies: ['a*'] }, ['ab'], {}, 'ab is not'],
    ['a name beside root', { disallowed_policies: ['root', 'ops'] }, ['ops'], { sudo: true }, 'disallowed'],
    ['root in capitals', { allowed_policies: ['ROOT'] }, ['RooT'], {}, 'cannot give the policy root'],
  ])('creating with a token role is rejected: %s', async (_, role, policies, caller, message) => {
    await expect(made(role, { policies }, caller)).rejects.toThrow(message)
  })
})

describe('other settings of a token role', () => {
  test.each<[name: string, role: object, given: object, expected: object]>([
    ['the role and its suffix', { path_suffix: 'x' }, {}, { role: 'ci', path: 'auth/token/create/ci/x' }],
    ['a period', { token_period: 60 }, {}, { period: 60, ttl: 60 }],
    [
      'the lesser explicit maximum',
      { token_explicit_max_ttl: 60 },
      { explicit_max_ttl: 90 },
      { explicitMaxTtl: 60, ttl: 60 },
    ],
    [
      'the wanted explicit maximum',
      { token_explicit_max_ttl: 60 },
      { explicit_max_ttl: 30 },
      { explicitMaxTtl: 30 },
    ],
    ['the fewer uses', { token_num_uses: 2 }, { num_uses: 5 }, { numUses: 2 }],
    ['networks', { token_bound_cidrs: ['10.0.0.0/8'] }, {}, { boundCidrs: ['10.0.0.0/8'] }],
    ['not renewable', { renewable: false }, { renewable: true }, { renewable: false }],
    ['not renewable, as wished', {}, { renewable: false }, { renewable: false }],
  ])('%s', async (_, role, given, expected) => {
    expect((await made(role, given)).stored).toMatchObject(expected)
  })

  test('an orphan role creates tokens without a parent', async () => {
    expect((await made({ orphan: true }, {})).auth).toMatchObject({ orphan: true })
    expect((await made({}, {})).auth).toMatchObject({ orphan: false })
  })

  test('creating with a missing token role is rejected', async () => {
    await expect(createTokenWithRole(callWith({ subjectKey }))).rejects.toThrow('unknown role ci')
  })
})
