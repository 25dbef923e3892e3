import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import { type ClusterRecord, createEmptyLink } from '../../../../shared/model/cluster.ts'
import { recoverPrimaryLink } from '../../../../shared/replication/handlers/secondary.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { clusterRecord } from '../../../builders/cluster-record.ts'
import { callWith } from '../../../support/requests/call.ts'

const NOW = 1_700_000_000_000
const own = createEmptyLink('own' as EncryptedText)

function world(parts: Partial<ClusterRecord>) {
  const record = clusterRecord({ id: 'c-1', name: 'west', mode: 'secondary', ...parts })
  let woken = 0
  const wake = async (): Promise<void> => {
    woken += 1
  }
  const call = callWith({ now: NOW, cluster: { record, readAt: NOW }, ports: { puller: { wake } } }) as Call
  return { recover: () => recoverPrimaryLink(call), woken: () => woken }
}

describe('the endpoint recover', () => {
  const following = { link: { ...own, primaryKey: 'p' } }

  test('recover stores the request, and wakes the puller', async () => {
    const { recover, woken } = world(following)
    const { answer, changes, afterwards } = recover()
    expect(answer.warnings).toEqual([expect.stringContaining('tries again')])
    expect(changes).toEqual([
      expect.objectContaining({ kind: 'put', key: key('recovery'), data: { at: NOW }, expected: 'any' }),
    ])
    await afterwards?.()
    expect(woken()).toBe(1)
  })

  test.each<[parts: Partial<ClusterRecord>, warning: string]>([
    [{ link: own }, 'follows no primary'],
    [{ mode: 'primary', link: own }, 'is a primary'],
  ])('recover changes nothing on %o and says why', (parts, warning) => {
    const { answer, ...rest } = world(parts).recover()
    expect(answer.warnings).toEqual([expect.stringContaining(warning)])
    expect(rest).toEqual({})
  })

  test('a cluster without a set refuses recover', () => {
    expect(() => world({ mode: 'disabled' }).recover()).toThrow(
      'this cluster is in no DR set, so this cluster has no link to other clusters; send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
    )
  })
})
