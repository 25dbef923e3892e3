import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Secret, secretsEqual, sha256 } from '../../../shared/values/secret.ts'

describe('a secret prints as a placeholder', () => {
  const secret = new Secret('hvs.SECRET')
  test.each([
    ['as text', `${secret}`],
    ['joined to text', `x${[secret].join()}`],
    ['as JSON', JSON.stringify({ secret })],
    ['inspected', inspect({ secret }, { depth: 9, showHidden: true })],
    ['spread', JSON.stringify({ ...secret })],
    ['by its keys', Object.getOwnPropertyNames(secret).join()],
    ['in an error', String(new Error(`x ${secret}`, { cause: secret }).cause)],
  ])('%s', (_, shown) => {
    expect(shown).not.toContain('SECRET')
  })

  test("reveal returns the secret's text", () => {
    expect(secret.reveal()).toBe('hvs.SECRET')
  })
})

describe('secretsEqual', () => {
  test.each([
    ['a', 'a', true],
    ['', '', true],
    ['a', 'b', false],
    ['a', 'A', false],
    ['a', 'a ', false],
    ['a', '', false],
    ['é', 'é', true],
    ['\u00e9', 'e\u0301', false],
  ])('%j and %j: %s', (a, b, same) => {
    expect(secretsEqual(a, b)).toBe(same)
    expect(secretsEqual(Buffer.from(a), b)).toBe(same)
  })
})

test('sha256 hashes the UTF-8 bytes', () => {
  expect(sha256('abc').toString('hex')).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
  expect(sha256('é')).toEqual(sha256(Buffer.from('é')))
})
