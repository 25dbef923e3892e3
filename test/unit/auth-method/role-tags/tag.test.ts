import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isTagSignedWith,
  MAX_TAG_LENGTH,
  parseRoleTag,
  type RoleTag,
  renderRoleTag,
  signedTagText,
} from '../../../../shared/auth-method/role-tags/tag.ts'
import { sanitisePolicies } from '../../../../shared/policies/names.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { usualTag as usual } from '../../../builders/ec2-facts.ts'
import published from '../../../vectors/role-tags.json' with { type: 'json' }

const key = new Secret('1b4e28ba-2fa1-4d2a-883f-0016d3cca427')
/** Appends the valid MAC of a text, which only the owner of the key can compute. */
const signed = (plain: string) =>
  `${plain}:${createHmac('sha256', key.reveal()).update(plain).digest('base64')}`
const verifies = (value: string) => {
  const parsed = parseRoleTag(value)
  return parsed !== undefined && isTagSignedWith(parsed, key)
}

describe('published vectors', () => {
  test.each(published.vectors)(
    'the published tag is rendered, parsed and verified: $value',
    ({ value, tag }) => {
      expect(renderRoleTag(tag, key)).toBe(value)
      expect(parseRoleTag(value)?.tag).toEqual(tag)
      expect(verifies(value)).toBe(true)
    },
  )

  test.each(published.vectors)(
    'the published tag with any changed character is rejected: $value',
    ({ value }) => {
      const changed = [...value].map(
        (char, at) => value.slice(0, at) + (char === 'A' ? 'B' : 'A') + value.slice(at + 1),
      )
      expect(changed.filter(verifies)).toEqual([])
    },
  )

  test("a tag is not verified by another role's key", () => {
    const parsed = parseRoleTag(published.vectors[0]?.value ?? '') ?? expect.fail()
    expect(isTagSignedWith(parsed, new Secret('1b4e28ba-2fa1-4d2a-883f-0016d3cca428'))).toBe(false)
    expect(isTagSignedWith(parsed, new Secret(''))).toBe(false)
  })
})

describe('the text of a tag', () => {
  test.each<[Partial<RoleTag>, string]>([
    [{}, 'v1:q83vEjRWeJA=:r=dev:d=false:m=false'],
    [{ disallowReauthentication: true }, 'v1:q83vEjRWeJA=:r=dev:d=true:m=false'],
    [{ allowInstanceMigration: true }, 'v1:q83vEjRWeJA=:r=dev:d=false:m=true'],
    [{ policies: ['a', 'b'] }, 'v1:q83vEjRWeJA=:r=dev:d=false:m=false:p=a,b'],
    [{ instanceId: 'i-0' }, 'v1:q83vEjRWeJA=:r=dev:d=false:m=false:i=i-0'],
    [{ maxTtl: 1 }, 'v1:q83vEjRWeJA=:r=dev:d=false:m=false:t=1'],
    [
      { policies: ['a'], instanceId: 'i-0', maxTtl: 60 },
      'v1:q83vEjRWeJA=:r=dev:d=false:m=false:p=a:i=i-0:t=60',
    ],
  ])('the text of %j is %s', (parts, plain) => {
    expect(signedTagText({ ...usual, ...parts })).toBe(plain)
  })

  test('a rendered tag is parsed back to the same items', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
    const policy = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}( [a-z]{1,3})?$/)
    const tag = fc.record({
      nonce: fc
        .uint8Array({ minLength: 8, maxLength: 8 })
        .map(bytes => Buffer.from(bytes).toString('base64')),
      role: name,
      disallowReauthentication: fc.boolean(),
      allowInstanceMigration: fc.boolean(),
      policies: fc.array(policy, { maxLength: 5 }).map(names => sanitisePolicies(names)),
      instanceId: fc.oneof(fc.constant(''), name),
      maxTtl: fc.nat(2 ** 31 - 1),
    })
    fc.assert(
      fc.property(tag, one => {
        const value = renderRoleTag(one, key)
        expect(parseRoleTag(value)?.tag).toEqual(one)
        expect(verifies(value)).toBe(true)
      }),
    )
  })
})

describe('only the canonical text is accepted', () => {
  const plain = 'v1:q83vEjRWeJA=:r=dev:d=false:m=false'
  test('the canonical text is accepted', () => {
    expect(verifies(signed(plain))).toBe(true)
    expect(verifies(signed(`${plain}:p=default,dev:i=i-0:t=300`))).toBe(true)
  })

  test.each([
    ['another version', plain.replace('v1', 'v2')],
    ['no version', plain.replace('v1:', '')],
    ['a version with a space', plain.replace('v1', 'v1 ')],
    ['no nonce', plain.replace('q83vEjRWeJA=', '')],
    ['a short nonce', plain.replace('q83vEjRWeJA=', 'q83vEjRWeA==')],
    ['a nonce without padding', plain.replace('JA=', 'JA')],
    ['a nonce with stray bits', plain.replace('JA=', 'JB=')],
    ['no role', plain.replace('r=dev:', '')],
    ['an empty role', plain.replace('r=dev', 'r=')],
    ['a role in upper case', plain.replace('dev', 'Dev')],
    ['a boolean word', plain.replace('d=false', 'd=F')],
    ['a boolean in upper case', plain.replace('d=false', 'd=FALSE')],
    ['a number for a boolean', plain.replace('m=false', 'm=0')],
    ['no d', plain.replace('d=false:', '')],
    ['no m', plain.replace(':m=false', '')],
    ['items in another order', plain.replace('d=false:m=false', 'm=false:d=false')],
    ['p behind i', `${plain}:i=i-0:p=a`],
    ['a repeated item', `${plain}:t=1:t=2`],
    ['a repeated role', plain.replace('r=dev', 'r=dev:r=prod')],
    ['an unknown item', `${plain}:x=1`],
    ['the name of an object’s method', `${plain}:constructor=1`],
    ['an empty item', `${plain}:`],
    ['an item without value', `${plain}:p`],
    ['empty policies', `${plain}:p=`],
    ['an empty policy', `${plain}:p=a,,b`],
    ['policies out of order', `${plain}:p=b,a`],
    ['a policy twice', `${plain}:p=a,a`],
    ['a policy in upper case', `${plain}:p=Dev`],
    ['root among policies', `${plain}:p=dev,root`],
    ['an empty instance', `${plain}:i=`],
    ['an instance in upper case', `${plain}:i=I-0`],
    ['no time', `${plain}:t=0`],
    ['a time with leading zeros', `${plain}:t=0300`],
    ['a negative time', `${plain}:t=-5`],
    ['a fraction of time', `${plain}:t=1.5`],
    ['a time with unit', `${plain}:t=5m`],
    ['a time with sign', `${plain}:t=+5`],
    ['a time beyond all numbers', `${plain}:t=${'9'.repeat(20)}`],
    ['a space at the end', `${plain} `],
    ['a line break at the end', `${plain}\n`],
  ])('%s is rejected, even if signed', (_, text) => {
    expect(parseRoleTag(signed(text))).toBeUndefined()
  })

  test.each([
    ['', undefined],
    [':', undefined],
    [':::::', undefined],
    ['v1', undefined],
    [plain, undefined],
    [`${plain}:`, undefined],
    [`${plain}:AAAA`, undefined],
    [signed(plain).slice(0, -1), undefined],
    [`${signed(plain)} `, undefined],
    [` ${signed(plain)}`, undefined],
    [`${signed(plain)}:`, undefined],
  ])('%j is rejected', (text, expected) => {
    expect(parseRoleTag(text)).toBe(expected)
  })

  test("a tag of 255 characters, EC2's maximum, is accepted", () => {
    const fill = MAX_TAG_LENGTH - signed(`${plain}:p=`).length
    expect(parseRoleTag(signed(`${plain}:p=${'a'.repeat(fill)}`))).toBeDefined()
    expect(parseRoleTag(signed(`${plain}:p=${'a'.repeat(fill + 1)}`))).toBeUndefined()
  })

  test('parsing arbitrary text never throws', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(':', 'v1', '=', 'r', 'd=true', 'p=', 't=', 'A', '/')),
        list => void parseRoleTag(list.join('')),
      ),
    )
  })
})
