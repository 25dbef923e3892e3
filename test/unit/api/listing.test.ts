import { describe, expect, test } from 'vitest'
import { pageOf } from '../../../shared/api/listing.ts'

describe('paging of listings', () => {
  test.each([
    ['nothing', {}, {}],
    ['empty values', { after: '', limit: 0 }, {}],
    ['a name', { after: 'b' }, { after: 'b' }],
    ['a number', { limit: 2 }, { limit: 2 }],
    ['both', { after: 'b', limit: 2 }, { after: 'b', limit: 2 }],
    ['the longest name', { after: 'é'.repeat(512) }, { after: 'é'.repeat(512) }],
  ])('is read from %s', (_, given, page) => expect(pageOf(given)).toEqual(page))

  test.each([
    ['a negative number', { limit: -1 }, 'limit must not be negative'],
    ['more than any name has', { after: 'é'.repeat(513) }, 'after is longer than any name'],
  ])('%s is refused', (_, given, message) => expect(() => pageOf(given)).toThrow(message))
})
