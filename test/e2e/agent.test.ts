import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../../infra/local/os/temporary.ts'
import { startCommand } from '../support/programs/command.ts'
import { type ImitatedCluster, imitateCluster } from '../support/programs/imitated-cluster.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { webServer } from '../support/service/server.ts'

// Runs the agent as processes. The clusters and the metadata service are servers of the test.

const root = realpathSync(makeTemporaryDirectory())
const preload = `${root}/kill-at.cjs`
// kills the process before its call number KILL_AT on the folder or on the network
const KILLER = `
const fs = require('node:fs')
let calls = 0
let isOpen = false
function count(isCounted) {
  if (isCounted && calls++ === Number(process.env.KILL_AT)) process.kill(process.pid, 'SIGKILL')
}
for (const name of ['openSync', 'lstatSync', 'symlinkSync', 'readlinkSync', 'renameSync', 'unlinkSync', 'readdirSync',
  'writeSync', 'fsyncSync', 'closeSync']) {
  const real = fs[name]
  fs[name] = (...args) => {
    const isHere = args.some(one => typeof one === 'string' && one.startsWith(process.env.KILL_IN))
    if (name === 'openSync' && isHere) isOpen = true
    count(isHere || (isOpen && typeof args[0] === 'number'))
    return real(...args)
  }
}
const http = require('node:http')
const { request } = http
http.request = (...args) => {
  count(true)
  return request(...args)
}
`
let folders = 0
let metadata: string
beforeAll(async () => {
  writeFileSync(preload, KILLER)
  metadata = (await webServer(afterAll, (_, response) => response.end('text'))).url
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const folder = () => {
  const path = `${root}/${folders++}`
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** Starts an agent. Its output so far is in `said`. */
function startAgent(cluster: ImitatedCluster, words: readonly string[], more: Record<string, string> = {}) {
  const variables = {
    PATH: process.env['PATH'] ?? '',
    CLOUD_AUTH_CLUSTERS: `ours=${cluster.url}`,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata,
    ...more,
  }
  const { child, ended } = startCommand(['agent', '--method', 'ec2', '--every', '0.2', ...words], variables)
  let said = ''
  child.stderr?.on('data', chunk => (said += chunk))
  onTestFinished(() => void child.kill('SIGKILL'))
  const until = (text: string) =>
    eventually(async () => {
      if (said.includes(text)) return said
      if (child.exitCode !== null) throw new Error(`the agent ended: ${said}`)
      return undefined
    })
  return { child, ended, until, hasSaid: (text: string) => said.includes(text) }
}

const contentOf = (file: string): string => readFileSync(file, 'utf8')

describe('the agent as a process', () => {
  test('SIGTERM ends the agent, and the token and nothing else stays in the folder', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const path = folder()
    const { child, ended, until } = startAgent(cluster, ['--file', `${path}/token`])
    await until('Logged in on ours')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ status: 0, stdout: '' })
    expect(readdirSync(path)).toEqual(['token'])
    expect([...cluster.tokens]).toEqual([contentOf(`${path}/token`)])
  })

  test('with --revoke the token is revoked, and its file removed', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const path = folder()
    const { child, ended, until } = startAgent(cluster, ['--file', `${path}/token`, '--revoke'])
    await until('Logged in on ours')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ status: 0 })
    expect({ files: readdirSync(path), tokens: [...cluster.tokens] }).toEqual({ files: [], tokens: [] })
  })

  test('the exit code of the program is the exit code of the agent', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const program = ['--', 'sh', '-c', 'echo "token $VAULT_TOKEN"; exit 7']
    const { status, stdout } = await startAgent(cluster, program).ended
    expect({ status, stdout }).toEqual({ status: 7, stdout: `token ${[...cluster.tokens][0]}\n` })
    const missing = await startAgent(cluster, ['--', `${root}/none`]).ended
    expect(missing).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('cannot be started (ENOENT)'),
    })
  })

  test('a signal to the agent reaches the program, whose exit code counts', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const script = 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'
    const { child, ended } = startAgent(cluster, ['--', 'sh', '-c', script])
    let printed = ''
    child.stdout?.on('data', chunk => (printed += chunk))
    await eventually(async () => printed.includes('ready') || undefined)
    child.kill('SIGTERM')
    expect((await ended).status).toBe(9)
  })

  test('a new login restarts the program with the new token', async () => {
    const cluster = await imitateCluster(onTestFinished)
    Object.assign(cluster, { lease: 1, renewal: 0 })
    const script = 'echo "$VAULT_TOKEN" >> "$0"; exec sleep 60'
    const log = `${folder()}/log`
    const { child, ended } = startAgent(cluster, ['--', 'sh', '-c', script, log])
    const seen = await eventually(async () => {
      const lines = readdirSync(log.replace('/log', '')).length > 0 ? contentOf(log).trim().split('\n') : []
      return lines.length >= 2 ? lines : undefined
    })
    expect(seen.slice(0, 2)).toEqual([...cluster.tokens].slice(0, 2))
    child.kill('SIGTERM')
    expect((await ended).status).toBe(143)
  })

  test('with --on-new-token the program gets a signal, and finds the new token in the file', async () => {
    const cluster = await imitateCluster(onTestFinished)
    Object.assign(cluster, { lease: 1, renewal: 0 })
    const file = `${folder()}/token`
    const script = 'trap "cat $0; exit 0" HUP; while :; do sleep 0.05; done'
    const words = ['--file', file, '--on-new-token', 'HUP', '--', 'sh', '-c', script, file]
    const { status, stdout } = await startAgent(cluster, words).ended
    expect({ status, stdout }).toEqual({ status: 0, stdout: [...cluster.tokens][1] })
  })
})

describe('two agents on one file', () => {
  test('the second ends with code 3 and names the first, which it does not disturb', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const file = `${folder()}/token`
    const first = startAgent(cluster, ['--file', file])
    await first.until('Logged in')
    const before = contentOf(file)
    const second = await startAgent(cluster, ['--file', file]).ended
    expect(second).toMatchObject({ status: 3, stdout: '' })
    expect(second.stderr).toMatch(
      new RegExp(`^the agent with process ID ${first.child.pid} keeps ${file} since \\d{4}-`),
    )
    expect(contentOf(file)).toBe(before)
    first.child.kill('SIGKILL')
    await first.ended
    const third = startAgent(cluster, ['--file', file])
    await third.until('Logged in')
    expect(contentOf(file)).not.toBe(before)
  })

  test('of six agents that find the lock of a dead agent at the same time, one goes on', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const path = folder()
    symlinkSync('cloud-auth-agent:4194304:gone:then', `${path}/.token.lock`)
    const agents = Array.from({ length: 6 }, () => startAgent(cluster, ['--file', `${path}/token`]))
    await eventually(async () => {
      const over = agents.filter(({ child, hasSaid }) => child.exitCode !== null || hasSaid('Logged in'))
      return over.length === agents.length || undefined
    })
    const codes = agents.map(({ child }) => child.exitCode)
    expect(codes.filter(code => code === null)).toHaveLength(1)
    expect(codes.filter(code => code === 3)).toHaveLength(5)
    expect(readdirSync(path).sort()).toEqual(['.token.lock', 'token'])
  })
})

test('an agent that is killed at any call leaves the old or the new token, and the next agent leaves nothing else', async () => {
  const cluster = await imitateCluster(onTestFinished)
  let kills = 0
  for (; ; kills++) {
    const path = folder()
    const file = `${path}/token`
    writeFileSync(file, 'the old token', { mode: 0o600 })
    const killing = { NODE_OPTIONS: `--require ${preload}`, KILL_AT: String(kills), KILL_IN: path }
    const { child, ended, hasSaid } = startAgent(cluster, ['--file', file], killing)
    while (child.exitCode === null && child.signalCode === null && !hasSaid('Logged in')) await setTimeout(10)
    if (child.signalCode === null) break
    expect((await ended).status).toBe(null)
    expect(['the old token', ...cluster.tokens]).toContain(contentOf(file))
    const next = startAgent(cluster, ['--file', file])
    await next.until('Logged in')
    next.child.kill('SIGTERM')
    expect((await next.ended).status).toBe(0)
    expect(readdirSync(path)).toEqual(['token'])
    expect([...cluster.tokens].at(-1)).toBe(contentOf(file))
  }
  expect(kills).toBeGreaterThan(20)
  expect(kills).toBeLessThan(80)
})
