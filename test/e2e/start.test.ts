import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import type { ClusterStateFile } from '../../infra/local/os/cluster-file.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import {
  awsOf,
  cleanUp,
  clusterFile,
  enginePid,
  folderOf,
  foreignKeys,
  freshCluster,
  hasEnded,
  isEngineOf,
  isRunning,
  type Run,
  start,
  startIn,
} from '../support/programs/npm-start.ts'
import { call } from '../support/service/api.ts'

/** Fields that differ from start to start. */
const changing = ({ pid, lambda_url, states_url, control_token }: ClusterStateFile) => ({
  pid,
  lambda_url,
  states_url,
  control_token,
})

/**
 * Returns paths in a directory, including the directory itself, that other users may read, write or enter,
 * with their modes.
 */
const openToOthers = (directory: string): string[] =>
  [directory, ...readdirSync(directory, { recursive: true }).map(name => `${directory}/${name}`)]
    .map(path => [path, lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0] as const)
    .filter(([, mode]) => (mode & 0o077) !== 0)
    .map(([path, mode]) => `${(mode & 0o777).toString(8)} ${path}`)

/**
 * Checks a directory repeatedly for open paths. @returns a function that ends the checks and returns all open
 * paths that they found
 */
function watchForOpen(directory: string): () => string[] {
  const seen = new Set<string>()
  const look = () => {
    for (const one of existsSync(directory) ? openToOthers(directory) : []) seen.add(one)
  }
  const timer = setInterval(look, 2)
  return () => {
    clearInterval(timer)
    look()
    return [...seen]
  }
}

// Runs `npm start` as a new user types it: the host ends its set-up with a login of each type, keeps serving,
// can be stopped, and finds its data again. With `--once` the host ends by itself.

const cluster = freshCluster('e2e')
afterAll(cleanUp)

describe('npm start', () => {
  test("keeps the cluster's data over a restart, and leaves no process behind", async () => {
    const first = start('--cluster', cluster, '--port', '0')
    const open = watchForOpen(folderOf(cluster))
    await first.until('Serving.')
    // the test's shell has an open umask; sockets count too
    expect(open(), 'what others might have reached at any moment').toEqual([])
    const known = clusterFile(cluster)
    const read = (base: string) =>
      call(base, 'GET', '/auth/cloud/role/demo-iam', undefined, { token: known.root_token })
    const beside = start('--cluster', cluster, '--memory', '--port', '0', '--once')
    await beside.until('tools read')
    expect(beside.output()).not.toContain(`${folderOf(cluster)}/cluster.json`)
    expect(clusterFile(cluster), 'beside one of its name in memory').toEqual(known)
    expect(await beside.ended, beside.output()).toBe(0)
    expect(clusterFile(cluster)).toEqual(known)
    const role = await read(known.base_url)
    expect(role.status).toBe(200)
    const [engine, aws] = [enginePid(cluster), awsOf(cluster)]
    expect([isEngineOf(cluster, engine), isRunning(aws.pid)]).toEqual([true, true])
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(0)
    expect(isEngineOf(cluster, engine), 'the engine').toBe(false)
    expect(isRunning(aws.pid), 'the imitated AWS').toBe(false)

    const second = start('--cluster', cluster, '--port', '0')
    await second.until('Serving.')
    expect(clusterFile(cluster)).toEqual({ ...known, ...changing(clusterFile(cluster)) })
    expect((await read(known.base_url)).body.data).toEqual(role.body.data)
    expect(awsOf(cluster).url).toBe(aws.url)
    second.child.kill('SIGKILL')
    await second.ended
    await eventually(() => !isRunning(awsOf(cluster).pid) || undefined)
  })

  test('of a cluster that is starting prints one line with the process, and a second Ctrl-C kills the first start with its children', async () => {
    const runs = [start('--cluster', cluster, '--port', '0'), start('--cluster', cluster, '--port', '0')]
    const refused = await Promise.race(runs.map(run => run.ended.then(code => ({ run, code }))))
    const run = runs.find(one => one !== refused.run) as Run
    expect(refused.code, refused.run.output()).toBe(1)
    expect(refused.run.output()).toMatch(
      new RegExp(`^the cluster in \\S+ runs already in process ${run.child.pid}\\. Stop that process, .*\n$`),
    )
    await run.until('Serving.')
    expect(run.output()).toMatch(/ec2 login: [\s\S]*iam login: /)
    const engine = enginePid(cluster)
    // two signals at once count as one, so the test repeats them until the process ends
    while (!hasEnded(run.child)) {
      run.child.kill('SIGINT')
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    await eventually(() => !isEngineOf(cluster, engine) || undefined)
    await eventually(() => !isRunning(awsOf(cluster).pid) || undefined)
  })

  test('--memory replaces the cluster file of the stored cluster while it runs; foreign keys stop only the demonstration; a port in use stops the start', async () => {
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

  test('with an invalid command line prints one line, exits with 2 and starts nothing', async () => {
    for (const [wrong, options] of [
      ['--nonsense', ['--nonsense']],
      ["'forgotten'", ['forgotten']],
      ['--region', ['--pair', '--region', 'us-east-1']],
    ] as const) {
      const run = start(...options)
      expect(await run.ended, run.output()).toBe(2)
      expect(run.output().trim().split('\n')).toEqual([expect.stringContaining(wrong)])
    }
  })
})
