import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { call } from '../support/service/api.ts'
import { eventually } from '../support/service/cluster.ts'
import { invokeAt } from '../support/service/invoke.ts'

// EC2's event on the way from the imitated AWS through the rule of the template to the function.

let host: LocalHost
beforeAll(async () => {
  host = await startLocalHost({ cluster: 'ends', port: 0, memory: true, unlisted: true })
  await asRoot('POST', '/sys/policies/acl/maker', {
    policy: 'path "auth/token/create" { capabilities = ["update"] }',
  })
  await asRoot('POST', '/auth/cloud/config/certificate/local', {
    cloud_public_cert: Buffer.from((await host.control.authority()).rsa2048).toString('base64'),
  })
  await asRoot('POST', '/auth/cloud/role/ends', {
    auth_type: 'ec2',
    bound_account_id: HOME_ACCOUNT.account,
    revoke_on_termination: true,
    token_policies: 'maker',
  })
})
afterAll(() => host?.close())

async function asRoot(method: string, path: string, body: unknown) {
  const reply = await call(host.base_url, method, path, body, { token: host.root_token })
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
  return reply.body
}

const place = (n: number) => ({ ...HOME_ACCOUNT, instanceId: `i-0123456789abcdef${n}` })
const statusOf = async (token: string): Promise<number> =>
  (await call(host.base_url, 'GET', '/auth/token/lookup-self', undefined, { token })).status

/** Logs in a new instance. @returns its token and a child of the token */
async function logIn(n: number): Promise<string[]> {
  await host.control.putInstance(place(n))
  const { rsa2048 } = await host.control.documents(place(n))
  const { auth } = await asRoot('POST', '/auth/cloud/login', {
    role: 'ends',
    pkcs7: rsa2048.replaceAll('\n', ''),
  })
  const token: string = auth.client_token
  const child = await call(host.base_url, 'POST', '/auth/token/create', {}, { token })
  return [token, child.body.auth.client_token]
}

test('a terminated instance ends its token and its child within seconds', async () => {
  const tokens = await logIn(1)
  expect(await Promise.all(tokens.map(statusOf))).toEqual([200, 200])
  const before = performance.now()
  await host.control.setInstance({ ...place(1), state: 'shutting-down' })
  await eventually(async () => (await statusOf(tokens[0] ?? '')) === 403)
  const delay = Math.round(performance.now() - before)
  process.stdout.write(`the token was refused ${delay} ms after the termination\n`)
  expect(await Promise.all(tokens.map(statusOf))).toEqual([403, 403])
})

test('a round ends the tokens of an instance whose event was lost', async () => {
  const tokens = await logIn(2)
  const { last } = await host.control.busEvents({})
  await host.control.loseEvents({})
  await host.control.setInstance({ ...place(2), state: 'terminated' })
  expect((await host.control.busEvents({ since: last })).events).toEqual([])
  expect(await Promise.all(tokens.map(statusOf))).toEqual([200, 200])
  await invokeAt(host, 'on-account-facts', {})
  expect(await Promise.all(tokens.map(statusOf))).toEqual([403, 403])
})
