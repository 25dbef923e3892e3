import { existsSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { call } from '../support/api.ts'
import {
  cleanUp,
  clusterFile,
  folderOf,
  foreignKeys,
  freshCluster,
  start,
  startIn,
} from '../support/npm-start.ts'

// What a stranger types: `npm start`. It ends its set-up with a login of each type, keeps serving, can be stopped,
// and finds its data again; `--once` ends by itself.

const cluster = freshCluster('e2e')
afterAll(cleanUp)

describe('npm start', () => {
  test('keeps serving, keeps its data over a restart, and leaves nothing behind', async () => {
    const first = start('--cluster', cluster, '--port', '0')
    await first.until('Serving.')
    const known = clusterFile(cluster)
    const read = (base: string) =>
      call(base, 'GET', '/auth/cloud/role/demo-iam', undefined, { token: known.root_token })
    const role = await read(known.base_url)
    expect(role.status).toBe(200)
    first.child.kill('SIGTERM')
    expect(await first.ended).toBe(0)
    expect(existsSync(`${folderOf(cluster)}/engine.json`), 'the engine was stopped').toBe(false)

    const second = start('--cluster', cluster, '--port', '0')
    await second.until('Serving.')
    const again = clusterFile(cluster)
    expect(again).toMatchObject({ root_token: known.root_token, recovery_keys: known.recovery_keys })
    expect((await read(again.base_url)).body.data).toEqual(role.body.data)
    second.child.kill('SIGINT')
    expect(await second.ended).toBe(0)
  })

  test('a cluster in memory tells its addresses in the file of the kept one of its name, which is as it was afterwards; keys of another account stop the demonstration only, and a port in use any start', async () => {
    const known = clusterFile(cluster)
    const foreign = { CLOUD_ACCESS_KEY: 'AKIAFOREIGNFOREIGN00', CLOUD_SECRET_KEY: 'of another account' }
    const run = startIn({ ...foreign, ...foreignKeys }, '--cluster', cluster, '--port', '0', '--memory')
    await run.until('Serving.')
    expect(run.output()).toContain('The demonstration failed')
    expect(run.output()).toContain('CLOUD_ACCESS_KEY')
    expect(run.output()).not.toContain(foreign.CLOUD_SECRET_KEY)
    const told = clusterFile(cluster)
    const { base_url, root_token, metadata_url } = told
    expect(Object.keys(told).sort()).toEqual(Object.keys(known).sort())
    expect(root_token).not.toBe(known.root_token)
    expect(run.output()).toContain(base_url)
    expect((await call(base_url, 'GET', '/sys/health')).status).toBe(200)
    expect((await call(base_url, 'GET', '/sys/auth', undefined, { token: root_token })).status).toBe(200)
    const token = await fetch(`${metadata_url}/latest/api/token`, {
      method: 'PUT',
      headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
    })
    expect(token.status).toBe(200)

    const port = /127\.0\.0\.1:(\d+)\/v1/.exec(run.output())?.[1] ?? ''
    const second = freshCluster('e2e-second')
    const refused = start('--cluster', second, '--port', port)
    expect(await refused.ended).toBe(1)
    expect(refused.output().trim().split('\n'), 'a port in use is told in one line').toEqual([
      expect.stringMatching(`^port ${port} is in use.*choose another port with --port`),
    ])
    expect(existsSync(folderOf(second)), 'nothing was begun').toBe(false)
    run.child.kill('SIGTERM')
    expect(await run.ended).toBe(0)
    expect(clusterFile(cluster), 'what it told has ended with it').toEqual(known)
  })

  test('an option that does not exist is told in one line', async () => {
    const odd = start('--cluster', '../elsewhere')
    expect(await odd.ended).toBe(1)
    expect(odd.output()).toContain('the name of a cluster')
    const unknown = start('--nonsense')
    expect(await unknown.ended).toBe(1)
    expect(unknown.output().trim().split('\n')).toEqual([expect.stringContaining('--nonsense')])
  })
})
