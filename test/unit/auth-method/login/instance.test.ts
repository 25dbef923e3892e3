import { describe, expect, test } from 'vitest'
import { findInstanceStateFault } from '../../../../shared/auth-method/login/instance.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'

describe('findInstanceStateFault', () => {
  test.each([
    ['running', undefined],
    ['pending', 'the instance is not running'],
    ['stopping', 'the instance is not running'],
    ['terminated', 'the instance is not running'],
    ['Running', 'the instance is not running'],
    ['', 'the instance is not running'],
  ])('an instance in the state "%s" gives: %s', (state, text) => {
    const found = findInstanceStateFault({ ...usualInstance, state }, usualInstance.id)?.text
    expect(found).toBe(text && `failed to verify the instance ${usualInstance.id}: ${text}`)
  })

  test('a missing or different instance gives the fault that EC2 knows no such instance', () => {
    expect(findInstanceStateFault(undefined, 'i-1')?.text).toContain('EC2 knows no such instance')
    expect(findInstanceStateFault(usualInstance, 'i-1')?.text).toContain('EC2 knows no such instance')
  })
})
