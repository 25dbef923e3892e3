import { describe, expect, test } from 'vitest'
import type { Token } from '../../../shared/model/token.ts'
import {
  type CreateTokenFacts,
  type CreateTokenParameters,
  decideNewToken,
  type TokenRoleRules,
} from '../../../shared/tokens/create.ts'
import { defaultTokenParameters } from '../../../shared/tokens/parameters.ts'
import { NOW, parentOf, rootToken, token } from './support.ts'

const MONTH = 2_764_800
const batch = token({ type: 'batch', hash: '', renewable: false })

/** Decides a request by a caller with the policies default and dev, by default without sudo. */
const decide = (given: CreateTokenParameters, facts: Partial<CreateTokenFacts> = {}) =>
  decideNewToken({
    parameters: given,
    parent: parentOf(token()),
    privileged: false,
    path: 'auth/token/create',
    source: '192.0.2.1',
    now: NOW,
    orphan: false,
    ...facts,
  })

const byRoot: Partial<CreateTokenFacts> = { parent: parentOf(rootToken), privileged: true }
const bySudo: Partial<CreateTokenFacts> = { privileged: true }

describe('the token of a create request', () => {
  test("without parameters a child gets the parent's policies", () => {
    const parent = parentOf(token({ depth: 3, entity: { id: 'e', mount: 'm', alias: 'a' } }))
    expect(decide({}, { parent })).toEqual({
      token: {
        type: 'service',
        hash: '',
        path: 'auth/token/create',
        displayName: 'token',
        policies: ['default', 'dev'],
        meta: null,
        parent: parent.accessor,
        parentCreatedAt: parent.token.createdAt,
        entity: { id: 'e', mount: 'm', alias: 'a' },
        depth: 4,
        numUses: 0,
        renewable: true,
        createdAt: NOW,
        ttl: MONTH,
        creationTtl: MONTH,
        explicitMaxTtl: 0,
        period: 0,
        boundCidrs: [],
      },
      warnings: [],
    })
  })

  test.each<
    [name: string, given: CreateTokenParameters, facts: Partial<CreateTokenFacts>, expected: Partial<Token>]
  >([
    ['policies of the parent', { policies: ['dev'] }, {}, { policies: ['default', 'dev'] }],
    ['policies in capitals', { policies: [' DEV'] }, {}, { policies: ['default', 'dev'] }],
    ['without default', { policies: ['dev'], no_default_policy: true }, {}, { policies: ['dev'] }],
    ['any policies with sudo', { policies: ['ops'] }, bySudo, { policies: ['default', 'ops'] }],
    ['any policies of root', { policies: ['ops'] }, byRoot, { policies: ['default', 'ops'] }],
    ['root from root', {}, byRoot, { policies: ['root'], ttl: 0, renewable: false }],
    ['root with an end', { ttl: 60 }, byRoot, { policies: ['root'], ttl: 60, renewable: true }],
    ['root with a period', { period: 60 }, byRoot, { policies: ['root'], ttl: 60, period: 60 }],
    ['root with an explicit maximum', { explicit_max_ttl: 60 }, byRoot, { policies: ['root'], ttl: 60 }],
    [
      'root with an end from a root with an end',
      { ttl: 60 },
      { privileged: true, parent: parentOf({ ...rootToken, ttl: 3600 }) },
      { policies: ['root'], ttl: 60 },
    ],
    ['a lifetime', { ttl: 60 }, {}, { ttl: 60, creationTtl: 60 }],
    [
      'a lifetime cut to the explicit maximum',
      { ttl: 60, explicit_max_ttl: 30 },
      {},
      { ttl: 30, explicitMaxTtl: 30 },
    ],
    ['a lifetime longer than the parent’s', { ttl: 36_000 }, {}, { ttl: 36_000 }],
    ['a period, with sudo', { period: 60, ttl: 30 }, bySudo, { period: 60, ttl: 60 }],
    ['limited uses', { num_uses: 3 }, {}, { numUses: 3 }],
    ['not renewable', { renewable: false }, {}, { renewable: false }],
    ['an orphan, with sudo', { no_parent: true }, bySudo, { depth: 0 }],
    ['an orphan, by the endpoint', {}, { orphan: true }, { depth: 0 }],
    ['a name', { display_name: 'ci Job_1' }, {}, { displayName: 'token-ci-Job-1' }],
    ['metadata', { meta: { team: 'a' } }, {}, { meta: { team: 'a' } }],
    ['empty metadata', { meta: {} }, {}, { meta: null }],
    ['the empty type', { type: '' }, {}, { type: 'service' }],
    ['a batch token', { type: 'batch', ttl: 60 }, {}, { type: 'batch', renewable: false, ttl: 60 }],
    [
      'a child of a bound parent is bound too',
      {},
      { parent: parentOf(token({ boundCidrs: ['10.0.0.0/8'] })) },
      { boundCidrs: ['10.0.0.0/8'] },
    ],
  ])('%s', (_, given, facts, expected) => {
    expect(decide(given, facts).token).toMatchObject(expected)
  })

  test.each<[name: string, given: CreateTokenParameters, facts: Partial<CreateTokenFacts>]>([
    ['the endpoint', {}, { orphan: true }],
    ['no_parent', { no_parent: true }, bySudo],
  ])('an orphan created by %s has neither parent nor entity', (_, given, facts) => {
    const parent = parentOf(token({ entity: { id: 'e', mount: 'm', alias: 'a' } }))
    expect(decide(given, { ...facts, parent }).token).not.toHaveProperty('parent')
    expect(decide(given, { ...facts, parent }).token).not.toHaveProperty('parentCreatedAt')
    expect(decide(given, { ...facts, parent }).token).not.toHaveProperty('entity')
  })

  test('a caller without the default policy cannot grant it', () => {
    const parent = parentOf(token({ policies: ['dev'] }))
    expect(decide({}, { parent }).token.policies).toEqual(['dev'])
    expect(decide({}, { parent, privileged: true }).token.policies).toEqual(['default', 'dev'])
  })

  test('a shortened TTL causes a warning', () => {
    expect(decide({ ttl: MONTH + 1 })).toMatchObject({
      token: { ttl: MONTH },
      warnings: [`the lifetime (${MONTH + 1} s) exceeds the maximum; it was reduced to ${MONTH} s`],
    })
  })
})

describe('the networks of a new token', () => {
  const [MAKERS, ROLES] = [['10.0.0.0/8'], ['192.0.2.0/24']]
  const role = (parts: Partial<TokenRoleRules>): TokenRoleRules => ({
    name: 'ci',
    forbid: () => undefined,
    unlisted: true,
    orphan: false,
    renewable: true,
    terms: defaultTokenParameters,
    otherwise: 'service',
    pathSuffix: '',
    ...parts,
  })
  const open = role({})
  const strict = (parts = {}) =>
    role({ terms: { ...defaultTokenParameters, strictlyBindIp: true, ...parts } })
  const bound = role({ terms: { ...defaultTokenParameters, boundCidrs: ROLES } })

  test.each<
    [
      name: string,
      given: CreateTokenParameters,
      facts: Partial<CreateTokenFacts>,
      expected: readonly string[],
    ]
  >([
    ['its maker’s', {}, {}, MAKERS],
    ['its maker’s, though an orphan by the endpoint', {}, { orphan: true }, MAKERS],
    ['its maker’s, though an orphan by the role', {}, { role: role({ orphan: true }) }, MAKERS],
    ['its maker’s, though a batch token', { type: 'batch' }, {}, MAKERS],
    ['its maker’s, where the role lists none', {}, { role: open }, MAKERS],
    ['the role’s', {}, { role: bound }, ROLES],
    ['the role’s, though its maker has sudo', {}, { role: bound, privileged: true }, ROLES],
    ['the address that asks, where the role says so', {}, { role: strict() }, ['192.0.2.1/32']],
    ['that alone, though its maker has sudo', {}, { role: strict(), privileged: true }, ['192.0.2.1/32']],
    ['that alone, beside networks', {}, { role: strict({ boundCidrs: ROLES }) }, ['192.0.2.1/32']],
    ['none by a maker with sudo', {}, { privileged: true }, []],
    ['none by a maker with sudo, where the role lists none', {}, { privileged: true, role: open }, []],
    ['none for an orphan by no_parent, which needs sudo', { no_parent: true }, { privileged: true }, []],
  ])('%s', (_, given, facts, expected) => {
    const parent = parentOf(token({ boundCidrs: MAKERS }))
    expect(decide(given, { parent, ...facts }).token.boundCidrs).toEqual(expected)
  })

  test('a token role whose CIDRs exclude the client address rejects the request', () => {
    const parent = parentOf(token({ boundCidrs: MAKERS }))
    const role = strict({ boundCidrs: ['198.51.100.0/24'] })
    expect(() => decide({}, { parent, role })).toThrow(expect.objectContaining({ code: 'permission_denied' }))
  })

  test('a root token that never expires is not bound to networks, with a warning', () => {
    expect(decide({}, { ...byRoot, role: bound })).toEqual({
      token: expect.objectContaining({ policies: ['root'], ttl: 0, boundCidrs: [] }),
      warnings: [expect.stringContaining('never expires')],
    })
    expect(decide({ ttl: 60 }, { ...byRoot, role: bound })).toMatchObject({
      token: { policies: ['root'], ttl: 60, boundCidrs: ROLES },
      warnings: [],
    })
  })
})

describe('rejected create requests', () => {
  test.each<[name: string, given: CreateTokenParameters, facts: Partial<CreateTokenFacts>, message: string]>([
    ['by a batch token', {}, { parent: parentOf(batch) }, 'batch tokens cannot create'],
    [
      'by a batch token with sudo',
      {},
      { parent: parentOf(batch), privileged: true },
      'batch tokens cannot create',
    ],
    ['by a token of limited uses', {}, { parent: parentOf(token({ numUses: 2 })) }, 'restricted use token'],
    ['policies beyond the parent’s', { policies: ['ops'] }, {}, 'subset of parent'],
    [
      'default, which the parent does not have',
      { policies: ['default'] },
      { parent: parentOf(token({ policies: ['dev'] })) },
      'subset',
    ],
    ['root, in capitals', { policies: [' ROOT '] }, {}, 'parent token being root'],
    ['root among others', { policies: ['dev', 'Root'] }, {}, 'parent token being root'],
    ['root with sudo', { policies: ['root'] }, bySudo, 'parent token being root'],
    [
      'endless root by a root with an end',
      {},
      { ...byRoot, parent: parentOf({ ...rootToken, ttl: 60 }) },
      'that never expires',
    ],
    ['a policy that no tag can carry', { policies: ['a:b'] }, byRoot, 'a policy name may contain'],
    ['an orphan without sudo', { no_parent: true }, {}, 'no_parent needs'],
    ['a chosen text without sudo', { id: 'mine' }, {}, 'id needs'],
    ['a period without sudo', { period: 60 }, {}, 'period needs'],
    ['negative uses', { num_uses: -1 }, byRoot, 'must not be negative'],
    ['an unknown type', { type: 'recovery' }, byRoot, 'type must be'],
    ['a name of a prototype as type', { type: 'constructor' }, byRoot, 'type must be'],
    ['an entity', { entity_alias: 'x' }, byRoot, 'not supported'],
    ['batch with uses', { type: 'batch', num_uses: 1 }, {}, 'batch tokens can have neither'],
    ['batch with a period', { type: 'batch', period: 60 }, bySudo, 'batch tokens can have neither'],
    [
      'batch with an explicit maximum',
      { type: 'batch', explicit_max_ttl: 60 },
      {},
      'batch tokens can have neither',
    ],
    ['batch with a chosen text', { type: 'batch', id: 'mine' }, bySudo, 'cannot be chosen'],
    ['batch as root', { type: 'batch', ttl: 60 }, byRoot, 'cannot be root'],
    ['by a token whose hierarchy is too deep', {}, { parent: parentOf(token({ depth: 32 })) }, 'too deep'],
  ])('%s', (_, given, facts, message) => {
    expect(() => decide(given, facts)).toThrow(message)
  })

  test('at the maximum depth only orphans can be created', () => {
    const parent = parentOf(token({ depth: 32 }))
    expect(decide({}, { parent, orphan: true }).token.depth).toBe(0)
  })
})
