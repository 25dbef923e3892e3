import { describe, expect, test } from 'vitest'
import { matchesEventPattern } from '../../../../../infra/local/streams/pattern.ts'

const event = { eventName: 'INSERT', dynamodb: { Keys: { pk: { S: 'j#000001' } } } }

describe('filter patterns of event sources', () => {
  test.each<[what: string, pattern: unknown, result: boolean]>([
    ['an empty pattern', {}, true],
    ['the value', { eventName: ['INSERT'] }, true],
    ['one of the values', { eventName: ['REMOVE', 'INSERT'] }, true],
    ['a different value', { eventName: ['REMOVE'] }, false],
    ['the prefix', { dynamodb: { Keys: { pk: { S: [{ prefix: 'j#' }] } } } }, true],
    ['a different prefix', { dynamodb: { Keys: { pk: { S: [{ prefix: 't#' }] } } } }, false],
    ['a missing member', { dynamodb: { NewImage: { x: ['y'] } } }, false],
    ['one member of two', { eventName: ['INSERT'], eventSource: ['other'] }, false],
  ])('%s: matches $2', (_, pattern, result) => expect(matchesEventPattern(pattern, event)).toBe(result))

  test.each([[{ eventName: 'INSERT' }], [{ eventName: [{ 'anything-but': 'x' }] }]])(
    'an unsupported pattern is an error: %j',
    pattern => expect(() => matchesEventPattern(pattern, event)).toThrow(/pattern|filter rule/),
  )
})
