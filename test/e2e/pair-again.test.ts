import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import type { ClusterStateFile } from '../../infra/local/os/cluster-file.ts'
import { findSteadyPort } from '../../infra/local/os/loopback.ts'
import { requestReplication } from '../../infra/local/pair/dr-client.ts'
import { generateTokenByShares } from '../../infra/local/pair/token-by-shares.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { cleanUp, isRunning, type Run, startIn } from '../support/programs/npm-start.ts'
import { call } from '../support/service/api.ts'
import { invokeAt } from '../support/service/invoke.ts'

// Switches an operator's pair, stops it and starts it again, kills one cluster, and brings it back.

const STATE = mkdtempSync(`${tmpdir()}/cloud-auth-`)
afterAll(() => {
  cleanUp()
  rmSync(STATE, { recursive: true, force: true })
})

type Name = 'east' | 'west'

const started = (...options: string[]): Run => startIn({ CLOUD_AUTH_STATE: STATE }, ...options)
const file = <Content = ClusterStateFile>(of: string, name = 'cluster.json'): Content =>
  JSON.parse(readFileSync(`${STATE}/${of}/${name}`, 'utf8')) as Content
const awsPid = (): number => file<{ pid: number }>('aws', 'aws.json').pid
const statusOf = async (name: Name) =>
  (await call(file(name).base_url, 'GET', '/sys/replication/dr/status')).body.data
const promote = async (name: Name, force: boolean): Promise<void> => {
  const token = await generateTokenByShares(file(name))
  await requestReplication(file(name), 'secondary/promote', { dr_operation_token: token, force })
}
const known = ({ base_url, link_address, provider_url, root_token, recovery_keys }: ClusterStateFile) => ({
  base_url,
  link_address,
  provider_url,
  root_token,
  recovery_keys,
})
const both = () => ({ east: known(file('east')), west: known(file('west')) })

/**
 * Runs the journal worker now, which otherwise runs every minute. On a new primary the worker notifies the
 * former primary.
 */
const minuteOf = (name: Name) => invokeAt(file(name), 'on-journal', { source: 'aws.events' })

/** Rekeys on east. Both cluster files must name the new shares once both clusters accept them. */
async function rekey(): Promise<void> {
  const { base_url, root_token: token, recovery_keys } = file('east')
  const send = (path: string, body: object) =>
    call(base_url, 'POST', `/sys/rotate/recovery/${path}`, body, { token })
  const { nonce } = (await send('init', { secret_shares: 4, secret_threshold: 2 })).body.data
  let made: string[] = []
  for (const key of recovery_keys.slice(0, 3)) made = (await send('update', { nonce, key })).body.data.keys
  expect(made).toHaveLength(4)
  await eventually(async () => {
    const named = [file('east'), file('west')].map(one => one.recovery_keys.join())
    return named.every(one => one === made.join()) || undefined
  })
}

async function stopped(run: Run): Promise<void> {
  run.child.kill('SIGINT')
  expect(await run.ended, run.output()).toBe(0)
  expect(isRunning(awsPid()), 'the imitated AWS').toBe(false)
}

test('npm start --pair resumes a pair after a switch, and after one host was killed in a disaster', async () => {
  let run = started('--pair', '--port', '0')
  await run.until('Serving.')
  expect(run.output(), 'each wait tells what is left of it').toMatch(
    /Waiting \(usually at most \d+ s\): east builds its journal[\s\S]* {2}\d+ s left[\s\S]*west becomes a secondary[\s\S]* {2}\d+ s left/,
  )
  await rekey()
  const before = both()
  const keys = ({ root_token, recovery_keys }: ClusterStateFile) => ({ root_token, recovery_keys })
  expect(keys(file('west')), 'both tell the keys of the set').toEqual(keys(file('east')))
  expect(file('east').recovery_keys.length).toBeGreaterThan(0)
  expect(new Set([run.child.pid, file('east').pid, file('west').pid, awsPid()]).size, 'processes').toBe(4)

  await promote('west', false)
  await stopped(run)
  run = started('--pair')
  await run.until('Serving.')
  expect(run.output()).toMatch(/west, the primary[\s\S]*east, its secondary[\s\S]*iam login on west/)
  expect(both(), 'addresses and keys').toEqual(before)

  const { pid, base_url } = file('west')
  process.kill(pid, 'SIGKILL')
  await run.until(`west has ended (SIGKILL). east goes on.`)
  expect(isRunning(awsPid()), 'the imitated AWS').toBe(true)
  await promote('east', true)
  expect((await statusOf('east')).mode).toBe('primary')
  const login = await call(file('east').base_url, 'GET', '/auth/cloud/role/demo-iam', undefined, {
    token: before.east.root_token,
  })
  expect(login.status, login.text).toBe(200)

  const back = started('--cluster', 'west')
  await back.until('Serving.')
  expect(file('west')).toMatchObject({ base_url, provider_url: before.west.provider_url })
  await eventually(async () => {
    await minuteOf('east')
    return (await statusOf('west')).mode === 'secondary' || undefined
  })
  back.child.kill('SIGINT')
  expect(await back.ended).toBe(0)
  const alone = started('--cluster', 'west', '--once')
  expect(await alone.ended, alone.output()).toBe(0)
  expect(alone.output()).toContain('west is a DR secondary: the primary serves the logins')
  expect(alone.output()).not.toContain('login:')
  await stopped(run)

  // gives the pair a new link port, because the link port of an earlier version changed at each start
  const place = file<Record<string, unknown>>('east', 'place.json')
  const linkPort = await findSteadyPort()
  writeFileSync(`${STATE}/east/place.json`, JSON.stringify({ ...place, linkPort }))
  const last = started('--pair', '--once')
  expect(await last.ended, last.output()).toBe(0)
  expect(last.output()).toMatch(/west follows east …[\s\S]*east, the primary[\s\S]*west, its secondary/)
  expect(last.output(), 'position and root').toMatch(/(position {2}\d+\n {2}root {6}[0-9a-f]{40})[\s\S]*\1/)
  const { east, west } = before
  expect(both()).toEqual({ east: { ...east, link_address: `http://127.0.0.1:${linkPort}` }, west })
})
