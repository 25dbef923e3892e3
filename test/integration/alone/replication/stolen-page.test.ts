import type { IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { blocksOf } from '../../../support/programs/pages.ts'
import { openShell } from '../../../support/programs/shell.ts'
import { webServer } from '../../../support/service/server.ts'
import { fenceByThief, promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// West took over from east, and east is stolen before any token has admitted it, so no admission has east's
// name. Runs the page's commands in bash, from the theft to the refusal of the thief's fence.

const POLICY = { policy: 'path "sys/replication/dr/readiness" { capabilities = ["read", "sudo"] }' }

const bodyOf = async (request: IncomingMessage): Promise<object | undefined> => {
  let text = ''
  for await (const part of request) text += String(part)
  return text === '' ? undefined : JSON.parse(text)
}

/** Serves the API of a cluster of the set at an address. */
async function servedBy(set: ClusterSet, name: string): Promise<string> {
  const { url } = await webServer(onTestFinished, (request, response) => {
    const path = (request.url ?? '').replace('/v1', '')
    const token = String(request.headers['x-vault-token'] ?? '')
    void bodyOf(request)
      .then(body => set.at(name).request(request.method ?? '', path, body, { token }))
      .then(({ status, text }) => response.writeHead(status).end(text))
  })
  return `${url}/v1`
}

test('the page on a stolen cluster cuts off a former primary without an admission, and its fence is refused', async () => {
  const set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
  const doing = promotions(set)
  await doing.giveToken('west')
  expect((await doing.promote('west')).status).toBe(200)
  await set.settled()
  const { id } = await set.at('east').record()

  await set.at('west').ok('POST', '/sys/policies/acl/failover', POLICY)
  const prepared = { type: 'batch', policies: ['failover'], ttl: '4h' }
  const { body } = await set.at('west').ok('POST', '/auth/token/create', prepared)
  const east = await servedBy(set, 'west')
  const opened = async () => {
    const shell = openShell({ cwd: '.' })
    onTestFinished(() => shell.close())
    for (const block of blocksOf('README', 'The shell')) await shell.paste(block)
    // the page calls the remaining primary east
    await shell.paste(`EAST=${east} TOKEN=${set.at('west').token()} OPERATION=${body.auth.client_token}`)
    return shell
  }

  const [list = '', revoke = '', ...checks] = blocksOf('stolen', '1. Cut it off, and end what it can sign')
  const shell = await opened()
  expect((await shell.paste(list)).stdout).toContain(
    JSON.stringify({ cluster_id: id, name: 'east', revoked: false }),
  )
  expect((await (await opened()).attempt(`NAMED=eats\n${revoke}`)).stderr).toContain(
    'set STOLEN to the cluster_id',
  )
  await shell.paste('NAMED=east')
  await shell.paste(revoke)
  expect(await shell.value('STOLEN')).toBe(id)
  expect(checks).toHaveLength(2)
  for (const check of checks) await shell.paste(check)

  await fenceByThief(set, 'east')
  expect([await doing.health('west'), await doing.health('east')]).toEqual([200, 200])
  const [fences] = await set.at('east').ports.store.read([key('fences')])
  expect(Object.values(fences?.data.outcomes ?? {})).toEqual([expect.objectContaining({ result: 'denied' })])
})
