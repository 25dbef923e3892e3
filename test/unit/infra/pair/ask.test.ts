import { expect, onTestFinished, test } from 'vitest'
import { lookAtMember, send } from '../../../../infra/pair/ask.ts'
import { webServer } from '../../../support/service/server.ts'

test('an address that sends its clients elsewhere is no cluster, and nobody else gets the token', async () => {
  const elsewhere = await webServer(onTestFinished, (_, response) => response.writeHead(200).end('{}'))
  const { url, requests } = await webServer(onTestFinished, (_, response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  )
  const body = { id: 'west' }
  await expect(send(url, 'sys/x', { method: 'POST', token: 'hvs.secret', body })).rejects.toThrow(/elsewhere/)
  expect(await lookAtMember({ name: 'west', address: url })).toMatchObject({
    silent: { answered: 'nothing' },
  })
  expect(requests).toHaveLength(3)
  expect(elsewhere.requests).toEqual([])
})
