import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type DrillRehearsal,
  runDisasterDrill,
  runSwitchDrill,
  startDrillRehearsal,
} from '../../infra/local/commands/drill/drill.ts'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { makeTemporaryDirectory } from '../../infra/local/os/temporary.ts'
import { readDrStatus } from '../../infra/local/pair/dr-client.ts'
import { startCommand } from '../support/programs/command.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { call } from '../support/service/api.ts'

// One agent keeps a token through a planned switch, the switch back, and a disaster of two real clusters under load.

const checkout = makeTemporaryDirectory()
const file = `${checkout}/token/file`
let rehearsal: DrillRehearsal
let agent: ReturnType<typeof startCommand>
let said = ''
/** Contents of the file that are not a token, and the number of reads. */
const odd: string[] = []
let reads = 0
let reading: NodeJS.Timeout

beforeAll(async () => {
  const options = { port: 0, memory: true, unlisted: true, pauseMs: 500 }
  const progress: string[] = []
  rehearsal = await startDrillRehearsal(options, text => void progress.push(text))
  const { mode } = await readDrStatus(rehearsal.west)
  expect(mode, progress.join('\n')).toBe('secondary')
  const { east, west, root: token } = rehearsal
  const path = '/auth/cloud/role'
  const demo = await call(east.base_url, 'GET', `${path}/demo-iam`, undefined, { token })
  const { auth_type, bound_iam_principal_arn } = demo.body.data
  const role = { auth_type, bound_iam_principal_arn, token_ttl: '15s', token_max_ttl: '40s' }
  const written = await call(east.base_url, 'POST', `${path}/agent`, role, { token })
  expect(written.status, written.text).toBeLessThan(300)
  mkdirSync(`${checkout}/token`, { mode: 0o700 })
  agent = startCommand(['agent', '--role', 'agent', '--every', '1', '--file', file], {
    PATH: process.env['PATH'] ?? '',
    CLOUD_AUTH_CLUSTERS: `east=${east.base_url} west=${west.base_url}`,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: east.metadata_url,
  })
  agent.child.stderr?.on('data', chunk => (said += chunk))
  await eventually(async () => said.includes('Logged in on east') || undefined)
  reading = setInterval(() => {
    const content = readFileSync(file, 'utf8')
    reads += 1
    if (!/^hvs\.\w+$/.test(content)) odd.push(content)
  }, 20)
})
afterAll(async () => {
  clearInterval(reading)
  agent?.child.kill('SIGKILL')
  await rehearsal?.close()
  rmSync(checkout, { recursive: true, force: true })
})

/** Waits until the token in the file is valid on a cluster. */
const isValidOn = ({ base_url }: LocalHost) =>
  eventually(async () => {
    const token = readFileSync(file, 'utf8')
    const { status } = await call(base_url, 'GET', '/auth/token/lookup-self', undefined, { token })
    return status === 200 ? true : undefined
  })

/** Waits until the agent has printed a text after a position. */
const saysAfter = (position: number, text: RegExp) =>
  eventually(async () => text.test(said.slice(position)) || undefined)

test('through a planned switch and the switch back, the agent follows the primary and keeps a valid token', async () => {
  await runSwitchDrill(rehearsal, [])
  expect(said).toMatch(/west serves now\.\n[\s\S]*east serves now\.\n/)
  await isValidOn(rehearsal.east)
})

test('the agent logs in again before the maximum lifetime of its token ends', async () => {
  const position = said.length
  await saysAfter(position, /Its maximum lifetime is near, so a login follows\.\n[\s\S]*Logged in on east/)
  await isValidOn(rehearsal.east)
})

test('after a disaster, the agent keeps a valid token on the cluster that was promoted', async () => {
  const position = said.length
  await runDisasterDrill(rehearsal)
  await saysAfter(
    position,
    /west serves now\.\n[\s\S]*(west knows the token|Logged in on west|Renewed the token on west)/,
  )
  await isValidOn(rehearsal.west)
})

test('a reader of the file always found a token, and SIGTERM leaves only the token', async () => {
  clearInterval(reading)
  expect(odd).toEqual([])
  expect(reads).toBeGreaterThan(1000)
  agent.child.kill('SIGTERM')
  expect((await agent.ended).status).toBe(0)
  expect(readdirSync(`${checkout}/token`)).toEqual(['file'])
  expect(said).not.toContain(readFileSync(file, 'utf8'))
})
