import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { account, provider, region } from './clients.ts'

/** Starts a provider with a role and the token of one of its containers. */
async function withContainer() {
  const { url, control } = await provider()
  const role = await control.putRole({ account, name: 'task', path: '/ecs/' })
  const { token } = await control.containerToken({ account, role: 'task', session: 'task-1' })
  const get = (authorization?: string, method = 'GET') =>
    fetch(`${url}/v1/credentials`, { method, headers: authorization ? { authorization } : {} })
  return { url, control, role, token, get }
}

describe('the credential endpoint of containers', () => {
  test('gives the SDK credentials of the role, whose session has the name of the task', async () => {
    const { url, role, token } = await withContainer()
    onTestFinished(() => void vi.unstubAllEnvs())
    // empty, because Vitest does not delete a variable that an earlier file of the worker has set
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_PROFILE', 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'])
      vi.stubEnv(name, '')
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null')
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null')
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${url}/v1/credentials`)
    vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN', token)
    const who = await new STSClient({ endpoint: url, region }).send(new GetCallerIdentityCommand())
    expect(who.Arn).toBe(`arn:aws:sts::${account}:assumed-role/task/task-1`)
    expect(who.UserId).toBe(`${role.roleId}:task-1`)
  })

  test('refuses missing, changed and foreign tokens', async () => {
    const { control, token, get } = await withContainer()
    const other = await withContainer()
    const changed = `${token.slice(0, -4)}${token.endsWith('AAA=') ? 'BBB=' : 'AAA='}`
    for (const wrong of [undefined, 'x', changed, `${token} `.repeat(2), other.token]) {
      const answer = await get(wrong)
      expect([answer.status, await answer.json()], wrong).toEqual([
        400,
        { code: 'AccessDeniedException', message: 'the authorization token is missing or invalid' },
      ])
    }
    expect((await get(token)).status).toBe(200)
    expect((await get(token, 'POST')).status).toBe(405)
    // a role that is created again has another ID
    await control.deleteRole({ account, name: 'task' })
    expect((await get(token)).status).toBe(400)
    await control.putRole({ account, name: 'task', path: '/ecs/' })
    expect((await get(token)).status).toBe(400)
  })

  test('logs its calls, and obeys faults', async () => {
    const { control, token, get } = await withContainer()
    await control.fault({ service: 'container', kind: 'error', times: 1 })
    expect((await get(token)).status).toBe(500)
    expect((await control.calls()).calls.at(-1)).toMatchObject({ service: 'container', status: 500 })
  })
})
