import { describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../shared/api/fields.ts'
import {
  createTokenTermFields,
  defaultTokenParameters,
  mergeTokenParameters,
  showTokenParameters,
  tokenParameterWarnings,
} from '../../../shared/tokens/parameters.ts'
import type { TokenParameters } from '../../../shared/tokens/terms.ts'
import { unsaid } from '../endpoints/interface.ts'

const DAY = 86_400

/** Applies writes one after the other, and returns the resulting response. */
function readBack(...bodies: Record<string, unknown>[]): Record<string, unknown> {
  const stored = bodies.reduce<TokenParameters>(
    (before, body) =>
      mergeTokenParameters(before, readParameterFields(createTokenTermFields('role'), body).parameters, DAY),
    defaultTokenParameters,
  )
  return showTokenParameters(stored, 'role')
}

describe('token parameters of roles', () => {
  test('unset parameters are returned as the defaults', () => {
    expect(readBack()).toEqual(unsaid('token_'))
  })

  test.each<[name: string, body: object, expected: object]>([
    [
      'durations as seconds',
      { token_ttl: '1h', token_max_ttl: '1d', token_period: 60 },
      { token_ttl: 3600, token_max_ttl: DAY, token_period: 60 },
    ],
    ['policies as given', { token_policies: ' Dev ,b,Dev' }, { token_policies: ['Dev', 'b', 'Dev'] }],
    [
      'a bare address without mask',
      { token_bound_cidrs: '10.0.0.1,2001:db8::/32' },
      { token_bound_cidrs: ['10.0.0.1', '2001:db8::/32'] },
    ],
    ['host bits as given', { token_bound_cidrs: ['10.0.0.1/8'] }, { token_bound_cidrs: ['10.0.0.1/8'] }],
    ['the empty type', { token_type: '' }, { token_type: 'default' }],
    ['service', { token_type: 'service' }, { token_type: 'service' }],
    ['batch', { token_type: 'batch' }, { token_type: 'batch' }],
    [
      'an explicit maximum above the mount’s',
      { token_explicit_max_ttl: 2 * DAY },
      { token_explicit_max_ttl: 2 * DAY },
    ],
    ['a period of exactly the mount’s maximum', { token_period: DAY }, { token_period: DAY }],
    ['a ttl of exactly the maximum', { token_ttl: 60, token_max_ttl: 60 }, { token_ttl: 60 }],
    ['a ttl above no maximum', { token_ttl: 60, token_max_ttl: 0 }, { token_ttl: 60 }],
  ])('stored parameters are returned: %s', (_, body, expected) =>
    expect(readBack(body as Record<string, unknown>)).toMatchObject(expected),
  )

  test.each<[name: string, body: Record<string, unknown>, message: string]>([
    ['a network that is none', { token_bound_cidrs: '10.0.0.0/33' }, 'token_bound_cidrs'],
    ['a network with a zone', { token_bound_cidrs: 'fe80::1%eth0' }, 'token_bound_cidrs'],
    ['a ttl above the maximum', { token_ttl: 61, token_max_ttl: 60 }, 'token_ttl'],
    ['a period above the mount’s maximum', { token_period: DAY + 1 }, 'token_period'],
    ['negative uses', { token_num_uses: -1 }, 'token_num_uses'],
    ['a negative duration', { token_ttl: -1 }, 'token_ttl'],
    ['a type that is none', { token_type: 'default-service' }, 'token_type'],
    ['a type in capitals', { token_type: 'Batch' }, 'token_type'],
    ['batch with a period', { token_type: 'batch', token_period: 1 }, 'batch'],
    ['batch with uses', { token_type: 'batch', token_num_uses: 1 }, 'batch'],
    ['a policy that no tag can carry', { token_policies: ['a:b'] }, 'policy name'],
    ['root', { token_policies: ['dev', ' ROOT'] }, 'root'],
    ['root by the deprecated name', { policies: 'Root' }, 'root'],
  ])('%s is rejected', (_, body, message) => expect(() => readBack(body)).toThrow(message))

  test('the merged parameters are validated, not only the sent ones', () => {
    expect(() => readBack({ token_max_ttl: 60 }, { token_ttl: 61 })).toThrow('token_ttl')
    expect(() => readBack({ token_num_uses: 1 }, { token_type: 'batch' })).toThrow('batch')
    expect(readBack({ token_num_uses: 1 }, { token_type: 'batch', token_num_uses: 0 })).toMatchObject({
      token_type: 'batch',
    })
  })

  test("only a token_max_ttl above the mount's maximum causes a warning", () => {
    const parameters = { ...defaultTokenParameters, maxTtl: DAY + 1, explicitMaxTtl: 9 * DAY }
    expect(tokenParameterWarnings(parameters, DAY)).toEqual([expect.stringContaining(String(DAY + 1))])
    expect(tokenParameterWarnings({ ...parameters, maxTtl: DAY }, DAY)).toEqual([])
  })
})

describe('deprecated parameter names', () => {
  test.each<[name: string, bodies: Record<string, unknown>[], expected: object]>([
    ['only the old one: both', [{ ttl: 60 }], { token_ttl: 60, ttl: 60 }],
    ['both: the current value in both', [{ ttl: 60, token_ttl: 90 }], { token_ttl: 90, ttl: 90 }],
    ['the current one clears the old', [{ ttl: 60 }, { token_ttl: 90 }], { token_ttl: 90 }],
    ['neither keeps both', [{ ttl: 60 }, {}], { token_ttl: 60, ttl: 60 }],
    ['max_ttl', [{ max_ttl: 60 }], { token_max_ttl: 60, max_ttl: 60 }],
    ['period', [{ period: 60 }], { token_period: 60, period: 60 }],
    ['policies are sanitised', [{ policies: 'B,a,b' }], { token_policies: ['a', 'b'], policies: ['a', 'b'] }],
    [
      'both policies: the current ones, as given',
      [{ policies: 'b', token_policies: 'C' }],
      { token_policies: ['C'], policies: ['C'] },
    ],
    ['an old one of zero is not shown', [{ ttl: 0 }], { token_ttl: 0 }],
    ['emptied', [{ policies: 'a' }, { policies: '' }], { token_policies: [] }],
  ])('%s', (_, bodies, expected) => {
    const old = ['ttl', 'max_ttl', 'period', 'policies']
    const shown = readBack(...bodies)
    expect(shown).toMatchObject(expected)
    expect(old.filter(name => name in shown)).toEqual(old.filter(name => name in expected))
  })
})
