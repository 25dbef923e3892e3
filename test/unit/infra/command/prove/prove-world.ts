import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { listJournaledRuns } from '../../../../../infra/command/prove/journal.ts'
import { prove } from '../../../../../infra/command/prove/prove.ts'
import type { ProveOptions, ProveTools } from '../../../../../infra/command/prove/tools.ts'
import { proveOptions } from '../../../../support/programs/prove-options.ts'
import { writeRelease } from './release-folder.ts'

export const ACCOUNT = '111122223333'

/** Answers a request to the clusters. @returns status and body */
type Answer = (path: string, method: string, body: string, authorization?: string) => [number, object]

/** Answers as a cluster that has everything that the probes look for. */
export const answerAsCluster = (path: string, method: string): [number, object] => {
  if (method === 'LIST') return [405, {}]
  if (path.includes('%25')) return [404, { errors: [] }]
  if (path.endsWith('/explain'))
    return [200, { data: { signatures: [{ documents: 'rsa2048', works_on_this_runtime: true }] } }]
  if (path.endsWith('token/create')) return [200, { auth: { client_token: 'a-batch-token' } }]
  return [200, { request_id: '0-1-2', data: {} }]
}

/**
 * Prepares the tests of a file for runs of `cloud-auth prove`: a server for all clusters, and for each test a home
 * folder with a release.
 */
export function proveWorld(
  defaults: Partial<ProveOptions>,
  open: ProveTools['open'],
  answerTo: Answer = answerAsCluster,
) {
  const world = { folder: '', printed: '', said: [] as string[], signal: (_: string): void => undefined }
  const server = createServer(async (request, response) => {
    const { url = '', method = '', headers } = request
    const [status, body] = answerTo(url, method, await text(request), headers.authorization)
    response.writeHead(status).end(JSON.stringify(body))
  })
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stateFolder = () => `${world.folder}/.local/state/cloud-auth`
  const report = () => JSON.parse(world.printed)
  beforeAll(async () => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => void server.close())
  beforeEach(() => {
    const folder = mkdtempSync(`${tmpdir()}/prove-`)
    writeRelease(`${folder}/release`)
    Object.assign(world, { folder, printed: '', said: [] })
  })
  afterEach(() => rmSync(world.folder, { recursive: true }))
  const start = (more: Partial<ProveOptions> = {}, tools: Partial<ProveTools> = {}) =>
    prove(
      { ...proveOptions, region: 'eu-west-1', ...defaults, release: `${world.folder}/release`, ...more },
      {
        environment: { HOME: world.folder },
        connection: { timeoutMs: 5000 },
        print: shown => {
          world.printed += shown
        },
        say: line => void world.said.push(line),
        confirm: async () => true,
        onSignal: called => {
          world.signal = called
        },
        open,
        reach: () => `${origin()}/v1`,
        linkTo: address => new URL(address).origin,
        ...tools,
      },
    )
  return {
    world,
    start,
    origin,
    stateFolder,
    journals: () => listJournaledRuns(stateFolder()),
    report,
    resultOf: (id: string) => report().rows.find((row: { id: string }) => row.id === id),
  }
}
