import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  readDrStatus,
  requestHost,
  requestReplication,
  waitUntilTrue,
} from '../../infra/local/pair/dr-client.ts'
import { joinLocalPair, startClusterPair, waitUntilPairSettled } from '../../infra/local/pair/pair.ts'
import { generateTokenByShares } from '../../infra/local/pair/token-by-shares.ts'
import { linkPath } from '../../shared/link/routes.ts'
import { frontOption, localFronts } from '../support/service/other-fronts.ts'

// Runs a pair behind each front end, with the front end's event format and its path of the link.
// `FRONT=loadBalancer npm run test:host` runs the client tests behind each front end.

describe.each(localFronts)('a pair behind %s', front => {
  test('joins, replicates, and serves listings and tokens after a planned switch', async () => {
    const pair = await startClusterPair({ port: 0, memory: true, unlisted: true, ...frontOption(front) })
    try {
      const joined = await joinLocalPair(pair, () => undefined)
      if (!joined) throw new Error('they did not join')
      const { east, west } = pair
      await requestHost(east, 'sys/policies/acl/reader', {
        policy: 'path "sys/health" { capabilities = ["read"] }',
      })
      const { auth } = await requestHost(east, 'auth/token/create', { policies: ['reader'] })
      const { east: first, west: second } = await waitUntilPairSettled({ east, west })
      expect(second.root).toBe(first.root)
      expect((await readDrStatus(west)).primaryAddress).toBe(east.link_address)
      const [secondary] = (await readDrStatus(east)).secondaries
      // the link has the address of the front end if the front end carries the link
      const own = front === 'httpApi' ? new URL(west.base_url).origin : west.link_address
      expect(secondary?.linkAddress).toBe(own)
      const asked = await fetch(`${new URL(east.base_url).origin}${linkPath}Heartbeat`, { method: 'POST' })
      // only the link rejects this content type with 415
      expect(asked.status === 415).toBe(front === 'httpApi')
      const listed = await fetch(`${east.base_url}/sys/policies/acl`, {
        method: 'LIST',
        headers: { 'x-vault-token': east.root_token },
      })
      expect(((await listed.json()) as { data: { keys: string[] } }).data.keys).toContain('reader')

      const operation = await generateTokenByShares(west)
      await requestReplication(west, 'secondary/promote', { dr_operation_token: operation })
      await waitUntilTrue('west does not serve', async () => (await readDrStatus(west)).mode === 'primary')
      await setTimeout(1000)
      const kept = await requestHost(west, 'auth/token/lookup-self', undefined, auth?.client_token)
      expect(kept.data?.['policies']).toContain('reader')
    } finally {
      await pair.close()
    }
  })
})
