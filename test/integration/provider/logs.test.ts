import { CreateLogStreamCommand, PutLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs'
import { expect, test } from 'vitest'
import { account, clientsOf, providerWithUser } from './clients.ts'

const stream = { logGroupName: '/audit/main', logStreamName: 'one' }
const put = (...times: number[]) =>
  new PutLogEventsCommand({
    ...stream,
    logEvents: times.map(timestamp => ({ timestamp, message: `at ${timestamp}` })),
  })

test('events are kept by group and stream, and read through control', async () => {
  const { url, key, control } = await providerWithUser()
  const { logs } = clientsOf(url, key)
  await logs.send(new CreateLogStreamCommand(stream))
  await logs.send(put(1, 2))
  await logs.send(put(3))
  expect(await control.logEvents({ group: '/audit/main' })).toEqual({
    events: [1, 2, 3].map(timestamp => ({ stream: 'one', timestamp, message: `at ${timestamp}` })),
  })
  expect(await control.logEvents({ group: '/audit/other' })).toEqual({ events: [] })
  expect(await control.logEvents({ group: '/audit/main', account: '222233334444' })).toEqual({ events: [] })
})

test('a stream must be created, and only once', async () => {
  const { url, key } = await providerWithUser()
  const { logs } = clientsOf(url, key)
  await expect(logs.send(put(1))).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
  await logs.send(new CreateLogStreamCommand(stream))
  await expect(logs.send(new CreateLogStreamCommand(stream))).rejects.toMatchObject({
    name: 'ResourceAlreadyExistsException',
  })
})

test('events out of order, and none at all, are refused', async () => {
  const { url, key, control } = await providerWithUser()
  const { logs } = clientsOf(url, key)
  await logs.send(new CreateLogStreamCommand(stream))
  await expect(logs.send(put(2, 1))).rejects.toMatchObject({ name: 'InvalidParameterException' })
  await expect(logs.send(put())).rejects.toMatchObject({ name: 'InvalidParameterException' })
  expect(await control.logEvents({ group: stream.logGroupName, account })).toEqual({ events: [] })
})
