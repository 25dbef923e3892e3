import { expect, test } from 'vitest'
import type { Ports } from '../../../shared/ports.ts'
import { type Key, key } from '../../../shared/storage/kinds.ts'
import { journalHandler } from '../../../shared/workers/handlers.ts'

test.each([
  ['cells that were written are worth a notice to those who follow', { Records: [{}] }, 1],
  ['a minute that has passed is none, but for other primaries', { source: 'aws.events' }, 0],
])('%s', async (_, event, expected) => {
  let notices = 0
  const ports = { store: { read: async () => [undefined], list: async () => [] } } as unknown as Ports
  let chases = 0
  await journalHandler(ports, {
    notify: async () => void notices++,
    chase: async () => void chases++,
  })(event)
  expect([notices, chases]).toEqual([expected, 1 - expected])
})

test('a minute that has passed has an operation go on, and tends the journal although none can be started', async () => {
  const operation = { ...key('operation', 'o'), data: { name: 'activation', startedAt: 1 } }
  const reads: unknown[] = []
  const ports = {
    store: {
      read: async ([first]: readonly Key[]) => {
        reads.push(first?.kind)
        return [first?.kind === 'operation' ? operation : { data: { operation: 'o' } }]
      },
      list: async () => [],
    },
    clock: { now: () => 1 },
    workflows: { start: () => Promise.reject(new Error('not now')) },
    log: { warn: () => undefined },
  } as unknown as Ports
  const nothing = async () => undefined
  const handler = journalHandler(ports, { notify: nothing, chase: nothing })
  await handler({ source: 'aws.events' })
  expect(reads).toEqual(['cluster', 'operation', 'cluster'])
  await handler({ Records: [{}] })
  expect(reads).toEqual(['cluster', 'operation', 'cluster', 'cluster'])
})
