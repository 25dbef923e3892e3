import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  formatPublicKey,
  newLinkPair,
  parseLinkPair,
  publicKeysOf,
  readPublicKey,
} from '../../../shared/link/pair.ts'
import { pair } from '../../builders/link.ts'

describe('the keys of a link', () => {
  test('follow from their text', () => {
    const text = newLinkPair(randomBytes)
    expect(publicKeysOf(parseLinkPair(text))).toEqual(publicKeysOf(parseLinkPair(text)))
    expect(publicKeysOf(parseLinkPair(newLinkPair(randomBytes)))).not.toEqual(
      publicKeysOf(parseLinkPair(text)),
    )
    expect(() => parseLinkPair(text.slice(4))).toThrow('64 bytes')
  })

  test('a formatted public key is parsed back', () => {
    const { keys } = pair()
    expect(readPublicKey(formatPublicKey(keys))).toEqual(keys)
  })

  test.each([
    ['nothing', ''],
    ['another version', Buffer.alloc(65, 2).toString('base64')],
    ['one byte too few', Buffer.alloc(64, 1).toString('base64')],
    ['one byte too many', Buffer.alloc(66, 1).toString('base64')],
    ['another alphabet', Buffer.alloc(65, 1).fill(0xff, 1).toString('base64url')],
    ['line breaks', `${Buffer.alloc(65, 1).toString('base64')}\n`],
  ])('a text of %s is not parsed as a public key', (_, text) => {
    expect(readPublicKey(text)).toBeUndefined()
  })
})
