import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roleAnswer } from '../../../../shared/auth-method/roles/handlers.ts'
import { plan, rawEc2, rawIam, rawInferring, write } from '../../../builders/role-plans.ts'

const tagsOf = (...requests: Parameters<typeof plan>) => roleAnswer(plan(...requests).role)['bound_tags']

describe('constraints on tags', () => {
  test('alone are a constraint, of ec2 and of iam that infers', () => {
    const { bound_iam_principal_arn: _, ...infers } = rawInferring
    for (const raw of [{ auth_type: 'ec2' }, infers])
      expect(tagsOf({ ...raw, bound_tags: { Env: 'prod' } })).toEqual({ Env: ['prod'] })
  })

  test('take an empty value where it stands in an array', () => {
    expect(tagsOf({ ...rawEc2, bound_tags: { Env: ['', 'dev'], Team: [''] } })).toEqual({
      Env: ['', 'dev'],
      Team: [''],
    })
    expect(tagsOf({ ...rawEc2, bound_tags: { Env: 'dev,,' } })).toEqual({ Env: ['dev'] })
  })

  test('are no constraint where they are empty', () => {
    expect(() => plan({ auth_type: 'ec2', bound_tags: {} })).toThrow('at least one bound constraint')
  })

  test('are not for iam roles that infer nothing, unless empty', () => {
    expect(() => plan({ ...rawIam, bound_tags: { Env: 'prod' } })).toThrow('bound_tags applies only to ec2')
    expect(tagsOf({ ...rawIam, bound_tags: {} })).toEqual({})
  })

  test('are replaced as a whole, removed by an empty object, and kept where they are not given', () => {
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
  ])('%s is refused', (_, bound_tags, message) => {
    expect(() => plan({ ...rawEc2, bound_tags })).toThrow(message)
  })

  test('a role from before them reads back without any', () => {
    const { role } = plan(rawEc2)
    const { bound_tags: _, ...bound } = role.bound
    expect(roleAnswer({ ...role, bound })['bound_tags']).toEqual({})
    expect(write({ bound_vpc_id: 'vpc-1' }, { ...role, bound }).role.bound).toEqual({
      ...role.bound,
      bound_vpc_id: ['vpc-1'],
    })
  })

  test('read back as they were written, and can be written back', () => {
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
