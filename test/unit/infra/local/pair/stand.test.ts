import { expect, test } from 'vitest'
import { formatSecondaryStatus } from '../../../../../infra/local/pair/stand.ts'
import { parseDrStatus } from '../../../../../shared/set/status.ts'

const statusOf = (more: object) => {
  const read = parseDrStatus({ mode: 'secondary', ...more })
  if (!read.ok) throw new Error(read.fault)
  return read.value
}
const OTHER = 'http://127.0.0.1:10001'
const following = statusOf({
  state: 'stream-wals',
  connection_state: 'ready',
  known_primary_cluster_addrs: [OTHER],
  primaries: [{ replication_primary_canary_age_ms: '40' }],
})

test('a secondary prints its role, its primary and its lag', () => {
  expect(
    formatSecondaryStatus('west', following),
  ).toBe(`west is a DR secondary: the primary serves the logins.
  primary   http://127.0.0.1:10001, connection ready
  state     stream-wals
  lag       the newest canary is 40 ms old
`)
})

test('a secondary without primary and heartbeat prints that both are missing', () => {
  const alone = statusOf({ state: 'idle', connection_state: 'idle' })
  expect(formatSecondaryStatus('west', alone)).toMatch(/primary +none[\s\S]*no heartbeat yet/)
})
