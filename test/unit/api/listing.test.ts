import { describe, expect, test } from 'vitest'
import { readPageParameters, selectPage } from '../../../shared/api/listing.ts'

describe('paging of listings', () => {
  test.each([
    ['nothing', {}, {}],
    ['empty values', { after: '', limit: 0 }, {}],
    ['a name', { after: 'b' }, { after: 'b' }],
    ['a number', { limit: 2 }, { limit: 2 }],
    ['a negative number, which is no limit', { limit: -1 }, {}],
    ['both', { after: 'b', limit: 2 }, { after: 'b', limit: 2 }],
    ['the longest name', { after: 'é'.repeat(512) }, { after: 'é'.repeat(512) }],
  ])('the page is read from %s', (_, given, page) => expect(readPageParameters(given)).toEqual(page))

  test('an `after` longer than any name is rejected', () =>
    expect(() => readPageParameters({ after: 'é'.repeat(513) })).toThrow(
      'parameter after is longer than any name',
    ))

  test('selectPage returns a page of names that are not stored', () => {
    const names = ['c', 'a', 'b']
    expect(selectPage(names, {})).toEqual(['a', 'b', 'c'])
    expect(selectPage(names, { after: 'a' })).toEqual(['b', 'c'])
    expect(selectPage(names, { after: 'a', limit: 1 })).toEqual(['b'])
  })
})
