import { CreateLogStreamCommand, PutLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs'
import { expect, test } from 'vitest'
import { account, clientsOf, providerWithUser } from './clients.ts'

const stream = { logGroupName: '/audit/main', logStreamName: 'one' }
const NOW = Date.now()
const HOUR = 3_600_000
const put = (...times: number[]) =>
  new PutLogEventsCommand({
    ...stream,
    logEvents: times.map(time => ({ timestamp: NOW + time, message: `at ${time}` })),
  })

test('log events are kept by group and stream, and control returns the events', async () => {
  const { url, key, control } = await providerWithUser()
  const { logs } = clientsOf(url, key)
  await logs.send(new CreateLogStreamCommand(stream))
  await logs.send(put(1, 2))
  await logs.send(put(3))
  expect(await control.logEvents({ group: '/audit/main' })).toEqual({
    events: [1, 2, 3].map(time => ({ stream: 'one', timestamp: NOW + time, message: `at ${time}` })),
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

test('events that are too old or too new are rejected, and a request may span a day', async () => {
  const { url, key, control } = await providerWithUser()
  const { logs } = clientsOf(url, key)
  await logs.send(new CreateLogStreamCommand(stream))
  const old = -14 * 24 * HOUR
  expect((await logs.send(put(old - HOUR, old + HOUR))).rejectedLogEventsInfo).toEqual({
    tooOldLogEventEndIndex: 1,
  })
  expect((await logs.send(put(0, 3 * HOUR))).rejectedLogEventsInfo).toEqual({ tooNewLogEventStartIndex: 1 })
  expect((await logs.send(put(0, HOUR))).rejectedLogEventsInfo).toBeUndefined()
  await expect(logs.send(put(-25 * HOUR, 0))).rejects.toMatchObject({ name: 'InvalidParameterException' })
  const { events } = await control.logEvents({ group: stream.logGroupName })
  expect(events.map(({ timestamp }) => timestamp - NOW)).toEqual([old + HOUR, 0, 0, HOUR])
})

test('events out of order and an empty list are refused', async () => {
  const { url, key, control } = await providerWithUser()
  const { logs } = clientsOf(url, key)
  await logs.send(new CreateLogStreamCommand(stream))
  await expect(logs.send(put(2, 1))).rejects.toMatchObject({ name: 'InvalidParameterException' })
  await expect(logs.send(put())).rejects.toMatchObject({ name: 'InvalidParameterException' })
  expect(await control.logEvents({ group: stream.logGroupName, account })).toEqual({ events: [] })
})
