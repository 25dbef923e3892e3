import { expect, onTestFinished, test } from 'vitest'
import { createSetCluster } from '../../../../infra/command/set/look.ts'
import { memberConnection, toNamedCluster } from '../../../../infra/pair/ask.ts'
import { webServer } from '../../../support/service/server.ts'

test("a redirect to another address is rejected, and the redirect's target gets no token", async () => {
  const elsewhere = await webServer(onTestFinished, (_, response) => response.writeHead(200).end('{}'))
  const { url, requests } = await webServer(onTestFinished, (_, response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  )
  const asking = { connection: memberConnection, token: 'hvs.secret', say: () => undefined }
  const member = createSetCluster(toNamedCluster({ name: 'west', address: url }), asking)
  await expect(member.write('x', { id: 'west' })).rejects.toThrow(/follows no redirects/)
  expect(await member.observe()).toMatchObject({ silent: { answered: 'nothing' } })
  expect(requests).toHaveLength(3)
  expect(elsewhere.requests).toEqual([])
})
