import { expect, test } from 'vitest'
import type { EngineResponse } from '../../../support/faults/engine-wire.ts'
import { tappedSend } from '../../../support/service/lean-client.ts'

const answered: EngineResponse = { statusCode: 200, headers: {}, body: Buffer.from('{}') }

/**
 * Scans through a tap that answers or breaks the connection, in the given order.
 * @returns the calls' ids, and how each scan ended
 */
async function scans(...outcomes: ('answers' | 'breaks')[]) {
  const ids: string[] = []
  const pass = async ({ invocation }: { invocation: string }) => {
    ids.push(invocation)
    return outcomes.shift() === 'breaks' ? undefined : answered
  }
  const send = tappedSend({ pass }, 'test')
  const ends: string[] = []
  do {
    const scan = send('Scan', { TableName: 'data' })
    ends.push(
      await scan.then(
        () => 'answered',
        error => String(error.code),
      ),
    )
  } while (outcomes.length > 0)
  return { ends, calls: ids.length, different: new Set(ids).size }
}

test('the test client sends a broken call three times with the same id', async () => {
  expect(await scans('breaks')).toEqual({ ends: ['answered'], calls: 2, different: 1 })
  expect(await scans('breaks', 'breaks', 'breaks')).toEqual({
    ends: ['ECONNRESET'],
    calls: 3,
    different: 1,
  })
})

test('a call that breaks on a kept connection is sent again at once, and the repetition counts as no attempt', async () => {
  expect(await scans('answers', 'breaks')).toEqual({
    ends: ['answered', 'answered'],
    calls: 3,
    different: 2,
  })
  const whole = await scans('answers', 'breaks', 'breaks', 'breaks', 'breaks', 'answers')
  expect(whole).toEqual({
    ends: ['answered', 'ECONNRESET', 'answered'],
    calls: 6,
    different: 3,
  })
})
