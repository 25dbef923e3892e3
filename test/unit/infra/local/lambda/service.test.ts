import { expect, onTestFinished, test } from 'vitest'
import { startLambdaService } from '../../../../../infra/local/lambda/service.ts'
import { call } from '../../../../support/service/api.ts'

async function service() {
  const invoke = async (_: string, event: unknown) => event
  const { url, close } = await startLambdaService({
    invoke,
    start: () => undefined,
    has: name => name === 'f',
    close: async () => undefined,
  })
  onTestFinished(close)
  const path = (name: string) => `/2015-03-31/functions/${name}/invocations`
  return (name: string, body?: string) => call(url, 'POST', path(name), body)
}

test('what is no request of Lambda’s is refused, and ends nothing', async () => {
  const invoke = await service()
  expect(await invoke('%E0%A4%A')).toMatchObject({ status: 404 })
  expect(await invoke('g')).toMatchObject({ status: 404 })
  expect(await invoke('f', '{"half":')).toMatchObject({
    status: 400,
    headers: { 'x-amzn-errortype': 'InvalidRequestContentException' },
  })
  expect(await invoke('f', '{"whole":1}')).toMatchObject({ status: 200, body: { whole: 1 } })
  expect(await invoke('arn:aws:lambda:a:b:function:f')).toMatchObject({ status: 200, text: '{}' })
})
