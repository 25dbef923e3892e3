import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roleAnswer } from '../../../../shared/auth-method/roles/handlers.ts'
import { plan, rawEc2, rawIam, rawInferring, write } from '../../../builders/role-plans.ts'

const tagsOf = (...requests: Parameters<typeof plan>) => roleAnswer(plan(...requests).role)['bound_tags']

describe('writing bound_tags', () => {
  test('bound_tags alone is enough for ec2 roles and for iam roles that infer instances', () => {
    const { bound_iam_principal_arn: _, ...infers } = rawInferring
    for (const raw of [{ auth_type: 'ec2' }, infers])
      expect(tagsOf({ ...raw, bound_tags: { Env: 'prod' } })).toEqual({ Env: ['prod'] })
  })

  test('an empty string in an array is a value', () => {
    expect(tagsOf({ ...rawEc2, bound_tags: { Env: ['', 'dev'], Team: [''] } })).toEqual({
      Env: ['', 'dev'],
      Team: [''],
    })
    expect(tagsOf({ ...rawEc2, bound_tags: { Env: 'dev,,' } })).toEqual({ Env: ['dev'] })
  })

  test('an empty bound_tags binds nothing', () => {
    expect(() => plan({ auth_type: 'ec2', bound_tags: {} })).toThrow('at least one bound constraint')
  })

  test('non-empty bound_tags is rejected for iam roles that infer no instances', () => {
    expect(() => plan({ ...rawIam, bound_tags: { Env: 'prod' } })).toThrow('bound_tags applies only to ec2')
    expect(tagsOf({ ...rawIam, bound_tags: {} })).toEqual({})
  })

  test('bound_tags is replaced as a whole, removed by an empty object, and kept if omitted', () => {
    const first = { ...rawEc2, bound_tags: { Env: ['prod', 'prod', 'dev'], Team: 'core' } }
    expect(tagsOf(first, {})).toEqual({ Env: ['prod', 'dev'], Team: ['core'] })
    expect(tagsOf(first, { bound_tags: { Env: 'dev' } })).toEqual({ Env: ['dev'] })
    expect(tagsOf(first, { bound_tags: {} })).toEqual({})
  })

  test.each([
    ['a key without values', { Env: [] }, '"Env" has no values'],
    ['a key with an empty text, which may be a forgotten one', { Env: '' }, '"Env" has no values'],
    ['a key with blanks', { Env: ['  '] }, '"Env" has no values'],
    ['a key that no tag can have', { ['x'.repeat(129)]: 'a' }, 'must not be longer than 128'],
  ])('%s is rejected', (_, bound_tags, message) => {
    expect(() => plan({ ...rawEc2, bound_tags })).toThrow(message)
  })

  test('a role stored before bound_tags existed is returned without tags', () => {
    const { role } = plan(rawEc2)
    const { bound_tags: _, ...bound } = role.bound
    expect(roleAnswer({ ...role, bound })['bound_tags']).toEqual({})
    expect(write({ bound_vpc_id: 'vpc-1' }, { ...role, bound }).role.bound).toEqual({
      ...role.bound,
      bound_vpc_id: ['vpc-1'],
    })
  })

  test('returned bound_tags can be written back', () => {
    const word = fc.stringMatching(/^[A-Za-z*:/ _.-]{0,12}$/).filter(text => text.trim() === text)
    const name = word.filter(text => text !== '' && text !== '__proto__')
    const tags = fc.dictionary(name, fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), { maxKeys: 4 })
    fc.assert(
      fc.property(tags, bound_tags => {
        const { role } = plan({ ...rawEc2, bound_tags })
        const shown = roleAnswer(role)['bound_tags']
        expect(shown).toEqual(bound_tags)
        expect(write({ bound_tags: shown }, role).role).toEqual(role)
      }),
    )
  })
})
