import { expect, test } from 'vitest'
import type { Ports } from '../../../shared/ports.ts'
import { journalHandler } from '../../../shared/workers/handlers.ts'

test.each([
  ['cells that were written are worth a notice', { Records: [{}] }, 1],
  ['a minute that has passed is none', { source: 'aws.events' }, 0],
])('%s', async (_, event, expected) => {
  let notices = 0
  const ports = { store: { read: async () => [undefined] } } as unknown as Ports
  await journalHandler(ports, async () => {
    notices += 1
  })(event)
  expect(notices).toBe(expected)
})
