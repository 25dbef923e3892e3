import { describe, expect, test } from 'vitest'
import { createPromiseCache } from '../../../../shared/adapters/aws/promise-cache.ts'

describe('a cache of asynchronous results', () => {
  const counted = () => {
    let runs = 0
    return async () => {
      runs += 1
      return runs
    }
  }

  test('the cache runs the work once for concurrent callers', async () => {
    const cache = createPromiseCache<number>(10)
    const work = counted()
    expect(await Promise.all([cache.get('a', work), cache.get('a', work)])).toEqual([1, 1])
    expect(await cache.get('a', work)).toBe(1)
    expect(await cache.get('b', work)).toBe(2)
  })

  test('the cache does not keep a failure', async () => {
    const cache = createPromiseCache<number>(10)
    await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await cache.get('a', async () => 1)).toBe(1)
  })

  test('the cache forgets a deleted result, and its late failure does not delete a newer result', async () => {
    const cache = createPromiseCache<number>(10)
    const late = Promise.withResolvers<number>()
    const first = cache.get('a', () => late.promise)
    cache.delete('a')
    expect(await cache.get('a', async () => 2)).toBe(2)
    late.reject(new Error('late'))
    await expect(first).rejects.toThrow('late')
    expect(await cache.get('a', async () => 3)).toBe(2)
  })

  test('the cache never exceeds its limit', async () => {
    const cache = createPromiseCache<number>(2)
    const work = counted()
    for (const name of ['a', 'b', 'c']) await cache.get(name, work)
    expect(await cache.get('c', work)).toBe(3)
    expect(await cache.get('a', work)).toBe(4)
  })
})
