import { afterAll, expect, test } from 'vitest'
import type { ClusterStateFile } from '../../infra/local/os/cluster-file.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { cleanUp, clusterFile, start } from '../support/programs/npm-start.ts'
import { call } from '../support/service/api.ts'

afterAll(cleanUp)

const STATUS = '/sys/replication/dr/status'
const statusOf = async ({ base_url }: ClusterStateFile) => (await call(base_url, 'GET', STATUS)).body.data

test('npm start --pair starts two processes, and the secondary replicates the logins but serves no requests', async () => {
  const run = start('--pair', '--memory', '--port', '0')
  await run.until('Serving.')
  const [east, west] = [clusterFile('east'), clusterFile('west')]
  expect(run.output()).toMatch(/ec2 login on east[\s\S]*iam login on east/)
  const pids = new Set([run.child.pid, east.pid, west.pid])
  expect(pids.size, 'each cluster is a process of its own').toBe(3)
  expect([east.pair_pid, west.pair_pid]).toEqual([run.child.pid, run.child.pid])
  expect({ root: west.root_token, shares: west.recovery_keys }).toEqual({
    root: east.root_token,
    shares: east.recovery_keys,
  })

  const [primary, secondary] = await eventually(async () => {
    const both = await Promise.all([statusOf(east), statusOf(west)])
    const [e, w] = both
    return e.last_dr_wal === w.last_remote_wal && e.merkle_root === w.merkle_root ? both : undefined
  })
  expect(primary).toMatchObject({ mode: 'primary', state: 'running', known_secondaries: ['west'] })
  expect(secondary).toMatchObject({ mode: 'secondary', state: 'stream-wals', cluster_id: primary.cluster_id })
  expect(secondary.merkle_root).not.toBe('')

  const refused: [method: string, path: string][] = [
    ['POST', '/auth/cloud/login'],
    ['GET', '/auth/cloud/role/demo-ec2'],
    ['LIST', '/auth/cloud/roles'],
    ['GET', '/sys/mounts'],
    ['DELETE', '/sys/policies/acl/demo'],
  ]
  for (const [method, path] of refused) {
    for (const token of [east.root_token, 'hvs.bad', '']) {
      const { status, text } = await call(west.base_url, method, path, method === 'POST' ? {} : undefined, {
        token,
      })
      expect({ path, status, text }).toMatchObject({
        status: 400,
        text: expect.stringMatching(/path disabled.*DR secondary/),
      })
    }
  }
  expect((await call(west.base_url, 'HEAD', '/auth/cloud/roles')).status).toBe(400)
  expect((await call(west.base_url, 'GET', '/sys/health')).status).toBe(472)

  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(0)
})
