import { readFileSync } from 'node:fs'
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { controlCommandFields, createRemoteControl } from '../../infra/local/provider/control.ts'
import type { RunningProvider } from '../../infra/local/provider/provider.ts'
import { account, clientsOf, provider, region } from './clients.ts'

test('the page lists every command with its fields', () => {
  const page = readFileSync(`${checkoutRoot}docs/look-up/imitated-aws.md`, 'utf8')
  const rows = [...page.matchAll(/^(\w+)\((.*)\)$/gm)].map(([, name, fields = '']) => [
    name,
    fields === '' ? [] : fields.split(', '),
  ])
  expect(rows).toEqual(controlCommandFields())
})

type Reached = Pick<RunningProvider, 'url' | 'controlToken'>

/** Sends a control command with the control token, unless the test gives other headers. */
const command = ({ url, controlToken }: Reached, name: string, init: RequestInit) =>
  fetch(`${url}/_control/${name}`, { headers: { authorization: `Bearer ${controlToken}` }, ...init })

describe('the control API of the imitated AWS over HTTP', () => {
  test('has all methods of the in-process control API, with equal effects and results', async () => {
    const { url, control, controlToken } = await provider()
    const remote = createRemoteControl(url, controlToken)
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

  test('answers 400 and names the wrong argument', async () => {
    const body = JSON.stringify({ account: '1', name: 'bob' })
    const answer = await command(await provider(), 'putUser', { method: 'POST', body })
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
  ])('%s by %s with %o answers %i', async (name, method, body, status) => {
    expect((await command(await provider(), name, { method, body })).status).toBe(status)
  })

  test.each([
    ['no token', {}],
    ['another token', { authorization: 'Bearer mine' }],
    ['an empty token', { authorization: 'Bearer ' }],
  ])('refuses a call with %s, and the refusal names `control_token`', async (_, headers) => {
    const answer = await command(await provider(), 'calls', { method: 'POST', body: '{}', headers })
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ error: expect.stringContaining('control_token') })
  })

  test.each(['_control/calls', ''])('a page in a browser gets nothing from /%s', async path => {
    const { url, controlToken } = await provider()
    const headers = { origin: 'http://evil.example', authorization: `Bearer ${controlToken}` }
    const answer = await fetch(`${url}/${path}`, { method: 'POST', body: '{}', headers })
    expect([answer.status, await answer.json()]).toEqual([403, { error: 'not for browsers' }])
  })

  test('every call of operatorKey returns the same key', async () => {
    const { url, control, controlToken } = await provider()
    const key = await control.operatorKey({})
    expect(await createRemoteControl(url, controlToken).operatorKey({})).toEqual(key)
    await expect(clientsOf(url, key).sts.send(new GetCallerIdentityCommand())).resolves.toMatchObject({
      Arn: `arn:aws:iam::${account}:user/operator`,
    })
  })
})

describe('arguments of control commands', () => {
  test.each([
    ['an unknown member', { account, region, instance: 'i-1' }, /instance/],
    ['an unknown state', { account, region, state: 'asleep' }, /^state: /],
    ['an invalid region', { account, region: 'europe' }, /^region: not the name of a region$/],
    ['an invalid time', { account, region, pendingTime: 'yesterday' }, /^pendingTime: /],
  ])('%s is refused', async (_name, input, message) => {
    const { control } = await provider()
    await expect(control.putInstance(input as never)).rejects.toThrow(message)
  })

  test('a fault or limit for a service that is not served is refused', async () => {
    const { control } = await provider()
    await expect(control.fault({ service: 's3' as never, kind: 'error' })).rejects.toThrow(/^service: /)
    const limit = { service: 's3' as never, action: 'x', perSecond: 1, burst: 1 }
    await expect(control.limit(limit)).rejects.toThrow(/^service: /)
  })

  test('results of control commands are copies, so that a change of a result changes no state', async () => {
    const { control } = await provider()
    const instance = await control.putInstance({ account, region })
    instance.tags['later'] = 'x'
    expect((await control.listInstances({ account, region }))[0]?.tags).toEqual({})
  })

  test('a third access key of a user and a session of a missing role are refused', async () => {
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
