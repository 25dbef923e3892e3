import { expect, onTestFinished, test } from 'vitest'
import { call } from '../../../support/service/api.ts'
import { rawServer } from '../../../support/service/server.ts'

test('the test client reports an answer that breaks off as an error', async () => {
  const { url } = await rawServer(onTestFinished, socket =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')),
  )
  await expect(call(url, 'GET', '/')).rejects.toMatchObject({ code: 'ECONNRESET' })
})
