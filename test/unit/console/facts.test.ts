import { describe, expect, test } from 'vitest'
import { describeBeginning, regionOfCluster } from '../../../shared/console/facts.ts'
import { classifyCluster } from '../../../shared/set/condition.ts'
import { changing, east, gone, type Seen, west } from '../../builders/pair-seen.ts'

const role_since = '2026-01-01T00:00:10Z'
const operation = { ...changing('merkle-check'), name: 'promotion', since: '2026-01-01T00:00:50Z' }
const last_start = '2026-01-01T00:00:20Z'

const beginningOf = async (one: Seen) => {
  const seen = await one
  return describeBeginning(classifyCluster(seen).state, seen)
}

describe('since when, on the card of a cluster', () => {
  test.each<[string, () => Seen, string | undefined, string | undefined]>([
    ['a serving primary: its role', () => east({ role_since }), 'primary since', role_since],
    ['a running operation: its start', () => east({ role_since, operation }), 'since', operation.since],
    ['a streaming secondary: its connection', () => west({ role_since, last_start }), 'since', last_start],
    [
      'a secondary without a connection time: its role',
      () => west({ role_since }),
      'secondary since',
      role_since,
    ],
    ['a cluster of an earlier version: unknown', () => east(), undefined, undefined],
    ['a role_since that is no time: unknown', () => east({ role_since: 'long ago' }), undefined, undefined],
    ['a silent cluster: unknown', () => gone(east({ role_since })), undefined, undefined],
  ])('%s', async (_, seen, label, since) =>
    expect(await beginningOf(seen())).toEqual(
      label === undefined ? undefined : { label, since: Date.parse(since ?? '') },
    ),
  )
})

describe('the region on the card of a cluster', () => {
  test.each<[string, object, string[], string]>([
    [
      'from the status first',
      { region: 'eu-west-1' },
      ['https://x.execute-api.us-east-1.amazonaws.com'],
      'eu-west-1',
    ],
    [
      'else from an address',
      {},
      ['https://auth.example.com', 'https://x.us-east-1.amazonaws.com'],
      'us-east-1',
    ],
    ['never a text that is no region', { region: '<b>All is well' }, ['no address'], ''],
  ])('%s', async (_, more, addresses, region) =>
    expect(regionOfCluster((await east(more)).answer?.status, addresses)).toBe(region),
  )
})
