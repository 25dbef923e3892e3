import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClusterApi } from '../../shared/adapters/cluster-api.ts'

const seen: { method: string | undefined; url: string | undefined; token: unknown; body: string }[] = []
const answers: Record<string, [status: number, body: string, headers?: Record<string, string>]> = {
  '/v1/fine': [200, '{"data":{"mode":"primary"},"warnings":null}'],
  '/v1/nothing': [204, ''],
  '/v1/refused': [503, '{"errors":["one","two"]}'],
  '/v1/gateway': [502, '<html>no JSON</html>'],
  '/v1/moved': [307, '', { location: '/v1/fine' }],
}
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { method, url, headers } = request
  seen.push({ method, url, token: headers['x-vault-token'], body: Buffer.concat(chunks).toString() })
  const [status, body, more = {}] = answers[url ?? ''] ?? [404, '']
  response.writeHead(status, more).end(body)
})
let ask: ReturnType<typeof createClusterApi>
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  ask = createClusterApi({ own: `http://127.0.0.1:${port}`, peer: 'http://127.0.0.1:1' })
})
afterAll(() => void server.close())

describe('a call to a cluster’s API by its address', () => {
  test('sends token and parameters, and returns the body of the answer', async () => {
    const given = { token: 'hvb.x', body: { id: 'east' } }
    expect(await ask('own', 'POST', 'fine', given)).toEqual({
      status: 200,
      body: { data: { mode: 'primary' }, warnings: null },
      refused: '',
    })
    expect(seen.at(-1)).toEqual({ method: 'POST', url: '/v1/fine', token: 'hvb.x', body: '{"id":"east"}' })
  })

  test.each([
    ['nothing', { status: 204, body: {}, refused: '' }],
    ['refused', { status: 503, body: { errors: ['one', 'two'] }, refused: '503 one; two' }],
    ['gateway', { status: 502, body: {}, refused: '502 ' }],
  ])('an answer of the path "%s" is returned as status, body and errors', async (path, answer) => {
    expect(await ask('own', 'GET', path)).toEqual(answer)
  })

  test('fails on a redirect without following the redirect, and on a cluster that cannot be reached', async () => {
    await expect(ask('own', 'GET', 'moved', { token: 'hvb.x' })).rejects.toThrow()
    await expect(ask('peer', 'GET', 'fine')).rejects.toThrow()
  })
})
