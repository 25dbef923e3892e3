import { expect, onTestFinished, test } from 'vitest'
import { requestHost } from '../../../../../infra/local/pair/dr-client.ts'
import { webServer } from '../../../../support/service/server.ts'

/** Starts a cluster with a list of answers: status, body, and Retry-After in seconds. */
async function answering(...answers: [status: number, body: string, retryAfter?: string][]) {
  const { url, requests } = await webServer(onTestFinished, (_, response) => {
    const [status, body, seconds] = answers.shift() ?? [500, '']
    if (seconds !== undefined) response.setHeader('retry-after', seconds)
    response.writeHead(status).end(body)
  })
  return { cluster: { base_url: url, root_token: 'hvs.root', cluster: 'west' }, requests }
}

test('an operator’s request is repeated after Retry-After, with a message', async () => {
  const { cluster, requests } = await answering(
    [503, '{"errors":["the promotion takes longer"]}', '0'],
    [503, '{"errors":["7 s behind its primary"]}', '0'],
    [200, '{"data":{"mode":"primary"}}'],
  )
  const told: string[] = []
  const answer = await requestHost(cluster, 'promote', {}, undefined, text => told.push(text))
  expect(answer.data).toEqual({ mode: 'primary' })
  expect(requests).toHaveLength(3)
  expect(told).toEqual([
    expect.stringMatching(/promote on west: 503 .*takes longer.*retrying in 1 s/),
    expect.stringContaining('7 s behind'),
  ])
})

test.each([
  [400, 'no DR secondary'],
  [503, 'sealed'],
])('a request is not repeated without Retry-After: %d', async (status, text) => {
  const { cluster, requests } = await answering([status, text])
  await expect(requestHost(cluster, 'promote', {})).rejects.toThrow(`promote on west: ${status} ${text}`)
  expect(requests).toHaveLength(1)
})
