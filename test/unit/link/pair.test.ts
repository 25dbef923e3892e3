import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  formatLinkPublicKeys,
  generateLinkKeyPairs,
  linkPublicKeysOf,
  parseLinkKeyPairs,
  parseLinkPublicKeys,
} from '../../../shared/link/pair.ts'
import { pair } from '../../builders/link.ts'

describe('the keys of a link', () => {
  test('the keys follow from their text', () => {
    const text = generateLinkKeyPairs(randomBytes)
    expect(linkPublicKeysOf(parseLinkKeyPairs(text))).toEqual(linkPublicKeysOf(parseLinkKeyPairs(text)))
    expect(linkPublicKeysOf(parseLinkKeyPairs(generateLinkKeyPairs(randomBytes)))).not.toEqual(
      linkPublicKeysOf(parseLinkKeyPairs(text)),
    )
    expect(() => parseLinkKeyPairs(text.slice(4))).toThrow('64 bytes')
  })

  test('a formatted public key is parsed back', () => {
    const { keys } = pair()
    expect(parseLinkPublicKeys(formatLinkPublicKeys(keys))).toEqual(keys)
  })

  test.each([
    ['nothing', ''],
    ['another version', Buffer.alloc(65, 2).toString('base64')],
    ['one byte too few', Buffer.alloc(64, 1).toString('base64')],
    ['one byte too many', Buffer.alloc(66, 1).toString('base64')],
    ['another alphabet', Buffer.alloc(65, 1).fill(0xff, 1).toString('base64url')],
    ['line breaks', `${Buffer.alloc(65, 1).toString('base64')}\n`],
  ])('a text of %s is not parsed as a public key', (_, text) => {
    expect(parseLinkPublicKeys(text)).toBeUndefined()
  })
})
