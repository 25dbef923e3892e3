import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { expect, onTestFinished, test } from 'vitest'
import { startLambdaApi } from '../../../../../infra/local/lambda/service.ts'

const key = { accessKeyId: 'AKIAOURS', secretAccessKey: 'ours' }

/** Starts a service that accepts one access key, and invokes functions through it. */
async function service(credentials = key) {
  const invoke = async (_: string, event: unknown) => event
  const lambdas = {
    invoke,
    start: () => undefined,
    has: (name: string) => name === 'f',
    close: async () => undefined,
  }
  const { url: endpoint, close } = await startLambdaApi(lambdas, [key])
  onTestFinished(close)
  const client = new LambdaClient({ endpoint, region: 'eu-west-1', credentials, maxAttempts: 1 })
  return async (FunctionName: string, Payload?: string): Promise<string> => {
    const command = new InvokeCommand({
      FunctionName,
      ...(Payload === undefined ? {} : { Payload: Buffer.from(Payload) }),
    })
    return client.send(command).then(
      answer => Buffer.from(answer.Payload ?? []).toString(),
      (error: Error) => error.name,
    )
  }
}

test('Invoke runs a function by name or ARN, and rejects unknown names and bodies that are not JSON', async () => {
  const invoke = await service()
  expect(await invoke('g')).toBe('ResourceNotFoundException')
  expect(await invoke('f', '{"half":')).toBe('InvalidRequestContentException')
  expect(await invoke('f', '{"whole":1}')).toBe('{"whole":1}')
  expect(await invoke('arn:aws:lambda:eu-west-1:111122223333:function:f')).toBe('{}')
})

test.each([
  [
    'a key of somebody else',
    { accessKeyId: 'AKIATHEIRS', secretAccessKey: 'theirs' },
    'UnrecognizedClientException',
  ],
  ['a wrong secret', { ...key, secretAccessKey: 'theirs' }, 'InvalidSignatureException'],
])('Invoke rejects %s', async (_, credentials, refused) => {
  const invoke = await service(credentials)
  expect(await invoke('f', '{}')).toBe(refused)
})
