import { describe, expect, test } from 'vitest'
import { textField } from '../../../shared/api/fields.ts'
import { nearestName, unknownFieldsWarning } from '../../../shared/api/unknown-fields.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'

const names = [
  'token_bound_cidrs',
  'token_policies',
  'token_ttl',
  'iam_server_id_header_value',
  'role',
  'type',
]

describe('the most similar field name', () => {
  test.each([
    ['iam_server_id_header_valu', 'iam_server_id_header_value'],
    ['token_bound_cidr', 'token_bound_cidrs'],
    ['tokenPolicies', 'token_policies'],
    ['token_polices', 'token_policies'],
    ['TOKEN_TTL', 'token_ttl'],
    ['token_tlt', 'token_ttl'],
    ['tpye', 'type'],
    ['colour', undefined],
    ['ro', undefined],
    ['', undefined],
    ['x'.repeat(1_000_000), undefined],
  ])('the most similar name to %.30s is %s', (given, nearest) =>
    expect(nearestName(given, names)).toBe(nearest),
  )

  test('a missing letter is corrected in every field name of three letters or more', () => {
    for (const { fields } of endpointGroups.flatMap(group => group.endpoints))
      for (const name of Object.keys(fields).filter(one => one.length > 3))
        expect(nearestName(name.slice(0, -1), Object.keys(fields))).toBeDefined()
  })
})

describe('the warning for unknown fields', () => {
  const fields = { description: textField(''), max_lease_ttl: textField('') }

  test('the warning names each field with the most similar known one', () => {
    expect(unknownFieldsWarning(['descripton', 'other'], fields)).toBe(
      'unknown parameters were ignored: descripton (did you mean description?), other',
    )
    expect(unknownFieldsWarning(['max_lease_tll'], fields, 'config.')).toBe(
      'unknown parameters were ignored: config.max_lease_tll (did you mean config.max_lease_ttl?)',
    )
  })

  test('the warning is short for many or long names', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `${index}${'x'.repeat(1000)}`)
    const warning = unknownFieldsWarning(many, fields)
    expect(warning.length).toBeLessThan(2500)
    expect(warning).toMatch(/, and 9980 more$/)
  })
})
