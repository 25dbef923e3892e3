import { describe, expect, test } from 'vitest'
import { key } from '../../../shared/storage/kinds.ts'
import { createAttemptHandler } from '../../../shared/workers/attempts.ts'
import { ceremonyWorld } from './support.ts'

/** Builds a secondary with a threshold of two, and records what its workflows request. */
async function watched() {
  const w = await ceremonyWorld({ shares: 3, threshold: 2 }, { of: 'operation' })
  const asked = createAttemptHandler(w.ports)
  const [a, b] = w.shares as [Buffer, Buffer]
  return {
    ...w,
    a,
    b,
    waits: (token: string) => asked({ step: 'wait', token, options: {} }),
    watches: (operation: string, token: string) => asked({ step: 'watch', operation, token }),
    begun: async (): Promise<string> => (await w.start()).body.nonce,
  }
}

type World = Awaited<ReturnType<typeof watched>>

describe('the workflow execution of an attempt', () => {
  test('the execution is notified of each share and of the end', async () => {
    const w = await watched()
    const nonce = await w.begun()
    expect(w.machines.started).toEqual([`operation-token-attempt ${nonce}`])
    await w.watches(nonce, 'one')
    await w.give(nonce, w.a)
    await w.watches(nonce, 'two')
    await w.give(nonce, w.b)
    expect(w.machines.told).toEqual([
      ['one', { outcome: 'share', progress: 1, required: 2 }],
      ['two', { outcome: 'completed' }],
    ])
  })

  test('the execution is notified of a cancellation', async () => {
    const w = await watched()
    await w.watches(await w.begun(), 'one')
    await w.cancel()
    await w.cancel()
    expect(w.machines.told).toEqual([['one', { outcome: 'cancelled' }]])
  })

  const ends: Record<string, (w: World, nonce: string) => Promise<unknown>> = {
    completed: async (w, nonce) => {
      await w.give(nonce, w.a)
      await w.give(nonce, w.b)
    },
    cancelled: w => w.cancel(),
    lapsed: async w => {
      w.clock.ms += 3_600_000
    },
  }
  test.each(Object.entries(ends))(
    'an execution that starts to watch after the attempt was %s is notified at once',
    async (outcome, end) => {
      const w = await watched()
      const nonce = await w.begun()
      await end(w, nonce)
      await w.watches(nonce, 'late')
      expect(w.machines.told).toEqual([['late', { outcome }]])
    },
  )

  test('the execution of an earlier attempt is not notified of the next attempt', async () => {
    const w = await watched()
    await w.watches(await w.begun(), 'first')
    await w.cancel()
    const second = await w.begun()
    await w.give(second, w.a)
    await w.watches(second, 'second')
    await w.give(second, w.b)
    expect(w.machines.told).toEqual([
      ['first', { outcome: 'cancelled' }],
      ['second', { outcome: 'completed' }],
    ])
  })

  test('a manually started execution watches the next attempt; without one a new execution is started', async () => {
    const w = await watched()
    await w.waits('by hand')
    const nonce = await w.begun()
    expect(w.machines.told).toEqual([['by hand', { operation: nonce }]])
    await w.cancel()
    const next = await w.begun()
    expect(w.machines.started).toEqual([`operation-token-attempt ${next}`])
  })

  test('a failing notification does not affect the attempt', async () => {
    const w = await watched()
    await w.waits('by hand')
    w.machines.fails = true
    const { status, body } = await w.start()
    expect([status, body.otp]).toEqual([200, expect.stringMatching(/^\w{33}$/)])
    await w.watches(body.nonce, 'one')
    await w.give(body.nonce, w.a)
    expect((await w.give(body.nonce, w.b)).body.complete).toBe(true)
  })

  test('task tokens are stored encrypted and expire soon after the waiting time', async () => {
    const w = await watched()
    await w.waits('by hand')
    await w.watches(await w.begun(), 'watching')
    const texts = JSON.stringify(w.stored.all())
    expect(texts).not.toMatch(/by hand|watching"/)
    const { start } = w
    expect(w.stored.at(key('watcher', 'watch'))).toBeDefined()
    w.clock.ms += 4_200_000
    await start()
    expect(w.machines.started).toHaveLength(1)
    expect(w.machines.told).toHaveLength(1)
    expect(w.stored.at(key('watcher', 'watch'))).toBeUndefined()
  })
})

test('a ceremony for a root token has no execution', async () => {
  const w = await ceremonyWorld()
  await w.start()
  expect(w.machines.started).toEqual([])
})
