import { readFileSync } from 'node:fs'
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { root } from '../../infra/checkout.ts'
import { commandFields, remoteControl } from '../../infra/local/provider/control.ts'
import { account, clientsOf, provider, region } from './clients.ts'

test('the page lists every command with its fields', () => {
  const page = readFileSync(`${root}docs/imitated-aws.md`, 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \|([^|]*)\|/gm)].map(([, name, fields = '']) => [
    name,
    fields.trim() === '' ? [] : fields.trim().split(', '),
  ])
  expect(rows).toEqual(commandFields())
})

const command = (url: string, name: string, init: RequestInit) => fetch(`${url}/_control/${name}`, init)

describe('control over HTTP', () => {
  test('has every method of control in the process, with the same effect and results', async () => {
    const { url, control } = await provider()
    const remote = remoteControl(url)
    expect(Object.keys(remote)).toEqual(Object.keys(control))
    const user = await remote.putUser({ account, name: 'bob' })
    const key = await remote.createAccessKey({ account, user: 'bob' })
    await expect(clientsOf(url, key).sts.send(new GetCallerIdentityCommand())).resolves.toMatchObject({
      Arn: user.arn,
    })
    const instance = await remote.putInstance({ account, region, tags: { a: 'ü' } })
    expect(await control.listInstances({ account, region })).toEqual([instance])
    expect(await remote.calls()).toEqual(await control.calls())
    expect(await remote.clearFaults()).toBeNull()
    await remote.deleteInstance(instance)
    expect(await control.listInstances({ account, region })).toEqual([])
  })

  test('answers 400 with the fault of the argument', async () => {
    const { url } = await provider()
    const body = JSON.stringify({ account: '1', name: 'bob' })
    const answer = await command(url, 'putUser', { method: 'POST', body })
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: 'account: an account number has 12 digits' },
    ])
  })

  test.each([
    ['nonsense', 'POST', '{}', 404],
    ['constructor', 'POST', '{}', 404],
    ['calls', 'GET', null, 405],
    ['calls', 'POST', '{', 400],
    ['calls', 'POST', '1', 400],
    ['putUser', 'POST', '', 400],
    ['calls', 'POST', '', 200],
  ])('%s by %s with %o gives %i', async (name, method, body, status) => {
    const { url } = await provider()
    expect((await command(url, name, { method, body })).status).toBe(status)
  })

  test('is not for pages in a browser', async () => {
    const { url } = await provider()
    const headers = { Origin: 'http://evil.example' }
    expect((await command(url, 'calls', { method: 'POST', body: '{}', headers })).status).toBe(403)
  })
})

describe('arguments', () => {
  test.each([
    ['an unknown member', { account, region, instance: 'i-1' }, /instance/],
    ['an unknown state', { account, region, state: 'asleep' }, /^state: /],
    ['a region that is none', { account, region: 'europe' }, /^region: not the name of a region$/],
    ['a time that is none', { account, region, pendingTime: 'yesterday' }, /^pendingTime: /],
  ])('%s is refused', async (_name, input, message) => {
    const { control } = await provider()
    await expect(control.putInstance(input as never)).rejects.toThrow(message)
  })

  test('a service that is not served cannot be given a fault or a limit', async () => {
    const { control } = await provider()
    await expect(control.fault({ service: 's3' as never, kind: 'error' })).rejects.toThrow(/^service: /)
    const limit = { service: 's3' as never, action: 'x', perSecond: 1, burst: 1 }
    await expect(control.limit(limit)).rejects.toThrow(/^service: /)
  })

  test('results are copies', async () => {
    const { control } = await provider()
    const instance = await control.putInstance({ account, region })
    instance.tags['later'] = 'x'
    expect((await control.listInstances({ account, region }))[0]?.tags).toEqual({})
  })

  test('the third key of a user, and a session of no role, are refused', async () => {
    const { control } = await provider()
    await control.putUser({ account, name: 'bob' })
    await control.createAccessKey({ account, user: 'bob' })
    await control.createAccessKey({ account, user: 'bob' })
    await expect(control.createAccessKey({ account, user: 'bob' })).rejects.toThrow(/quota/)
    await expect(control.session({ account, role: 'none', session: 'one' })).rejects.toThrow(
      /cannot be found/,
    )
  })
})
