import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import nodeVault from 'node-vault'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signLogin } from '../../infra/command/login/signed-login.ts'
import { webPathRules } from '../../infra/constructs/web-paths.ts'
import { closeServer, findFreePort, listenOnLoopback } from '../../infra/local/os/loopback.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { call } from '../support/service/api.ts'
import { auditEntries } from '../support/service/audit.ts'
import { aws, cluster, done, eventually, fresh } from '../support/service/cluster.ts'
import { behindDistribution, headersBehind } from '../support/service/web-front.ts'

// Runs the login bundle in its own process as a Web Function does, behind a front with one address for all
// clients. The test imitates Lambda from its documentation (docs/look-up/unverified.md#web-function).

const VERBS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'POST', 'DELETE']
const patterns = webPathRules.map(([pattern, toWeb]) => ({
  fits: new RegExp(`^${pattern.replaceAll('*', '.*')}$`),
  toWeb,
}))

/** Requests that reached each origin. */
const came = { web: 0, api: 0 }
const closers: (() => Promise<unknown>)[] = []
let front = ''
let webPort = 0

/** Passes a request to the origin for its path. */
function distribute(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method = '', url = '', headers, socket } = incoming
  if (!VERBS.includes(method)) return void outgoing.writeHead(403).end()
  const toWeb = patterns.find(({ fits }) => fits.test(url.split('?')[0] ?? ''))?.toWeb ?? false
  came[toWeb ? 'web' : 'api'] += 1
  const port = toWeb ? webPort : Number(new URL(cluster.base_url).port)
  const passed = headersBehind(headers as Record<string, string>, socket.remoteAddress ?? '')
  const onward = send({ port, host: '127.0.0.1', method, path: url, headers: passed }, answer => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  })
  onward.on('error', () => outgoing.destroy())
  incoming.pipe(onward)
}

beforeAll(async () => {
  const { code, environment } = cluster.login_runtime
  webPort = await findFreePort()
  const program = spawn(process.execPath, [`${code}/index.mjs`], {
    env: {
      ...environment,
      ...behindDistribution,
      AWS_LAMBDA_FUNCTION_NAME: undefined,
      AWS_LAMBDA_HTTP_ENDPOINT: `127.0.0.1:${webPort}`,
    },
    stdio: 'ignore',
  })
  closers.push(async () => {
    program.kill()
    if (program.exitCode === null && program.signalCode === null) await once(program, 'exit')
  })
  const server = createServer(distribute)
  closers.push(() => closeServer(server))
  front = await listenOnLoopback(server)
  await eventually(() =>
    call(`http://127.0.0.1:${webPort}`, 'GET', '/').then(
      () => true,
      () => false,
    ),
  )
})
afterAll(() => Promise.all(closers.map(close => close())))

const client = (token = '') => nodeVault({ endpoint: front, token })

describe('the client node-vault at the shared address of API and Web Function', () => {
  const mount = fresh('web')
  const policy = fresh('reader')

  test('administers the cluster through the API', async () => {
    const admin = client(cluster.root_token)
    expect(await admin.health()).toMatchObject({ initialized: true })
    await admin.enableAuth({ mount_point: mount, type: 'aws', description: 'for the Web Function' })
    await admin.addPolicy({
      name: policy,
      rules: `path "auth/${mount}/role*" { capabilities = ["read", "list"] }`,
    })
    const { arn } = await aws.putRole({ account: HOME_ACCOUNT.account, name: mount })
    const role = { auth_type: 'iam', bound_iam_principal_arn: arn, token_policies: policy, token_ttl: '1h' }
    await admin.write(`auth/${mount}/role/login`, role)
    expect((await admin.read(`auth/${mount}/role/login`)).data).toMatchObject({ token_policies: [policy] })
    expect(came.web).toBe(0)
  })

  test('logs in through the Web Function, then reads, looks up, renews and revokes through the API', async () => {
    const session = await aws.session({ account: HOME_ACCOUNT.account, role: mount, session: 'job-1' })
    const workload = client()
    const login = await workload.write(`auth/${mount}/login`, { role: 'login', ...signLogin(session) })
    expect(came.web).toBe(1)
    expect(login.auth).toMatchObject({ policies: ['default', policy], lease_duration: 3600, renewable: true })
    workload.token = login.auth.client_token
    expect((await workload.read(`auth/${mount}/roles?list=true`)).data.keys).toEqual(['login'])
    expect((await workload.tokenLookupSelf()).data).toMatchObject({ path: `auth/${mount}/login` })
    expect((await workload.tokenRenewSelf()).auth).toMatchObject({ lease_duration: 3600 })
    await workload.tokenRevokeSelf()
    await expect(workload.tokenLookupSelf()).rejects.toMatchObject({ response: { statusCode: 403 } })
    expect(came.web).toBe(1)
  })

  test('logs in with ec2, and again with the nonce', async () => {
    const instance = await aws.putInstance({ ...HOME_ACCOUNT })
    const { rsa2048 } = await aws.documents(instance)
    const certificate = Buffer.from((await aws.authority()).rsa2048).toString('base64')
    await done('POST', `/auth/${mount}/config/certificate/local`, { aws_public_cert: certificate })
    await done('POST', `/auth/${mount}/role/fleet`, {
      auth_type: 'ec2',
      bound_account_id: HOME_ACCOUNT.account,
    })
    const proof = { role: 'fleet', pkcs7: rsa2048.replaceAll('\n', '') }
    const first = await client().write(`auth/${mount}/login`, proof)
    const { nonce } = first.auth.metadata
    await expect(client().write(`auth/${mount}/login`, proof)).rejects.toMatchObject({
      response: { statusCode: 400 },
    })
    expect((await client().write(`auth/${mount}/login`, { ...proof, nonce })).auth.renewable).toBe(true)
  })

  test('cannot list with the verb LIST', async () => {
    await expect(client(cluster.root_token).list(`auth/${mount}/roles`)).rejects.toMatchObject({
      response: { statusCode: 400 },
    })
  })
})

describe('64 concurrent logins in one process', () => {
  const mount = fresh('many')

  test('each get the token of their own role, and two audit entries with their own request ID', async () => {
    await done('POST', `/sys/auth/${mount}`, { type: 'aws' })
    const workers = await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        const name = `${mount}-${index}`
        const { arn } = await aws.putRole({ account: HOME_ACCOUNT.account, name })
        await done('POST', `/auth/${mount}/role/${name}`, {
          bound_iam_principal_arn: arn,
          resolve_aws_unique_ids: false,
          token_policies: `p-${name}`,
        })
        return {
          name,
          session: await aws.session({ account: HOME_ACCOUNT.account, role: name, session: `s${index}` }),
        }
      }),
    )
    const replies = await Promise.all(
      workers.map(({ name, session }) =>
        call(`${front}/v1`, 'POST', `/auth/${mount}/login`, { role: name, ...signLogin(session) }),
      ),
    )
    const ids = replies.map(({ headers }) => headers['x-request-id'])
    expect(new Set(ids).size).toBe(64)
    for (const [index, { status, text, body }] of replies.entries()) {
      expect(status, text).toBe(200)
      expect(body.auth.policies).toEqual(['default', `p-${workers[index]?.name}`])
    }
    const entries = Map.groupBy(auditEntries(), ({ request }) => request?.id)
    for (const [index, id] of ids.entries()) {
      const own = entries.get(id) ?? []
      expect(own.map(entry => entry.audit).toSorted()).toEqual(['request', 'response'])
      for (const { request } of own) {
        expect(request.remote_address).toBe('127.0.0.1')
        expect(JSON.stringify(request)).toContain(`"${workers[index]?.name}"`)
      }
    }
  })
})

test("a request that bypasses the distribution is rejected, and the error names the proxy's address", async () => {
  const { status, headers, text } = await call(
    `http://127.0.0.1:${webPort}/v1`,
    'POST',
    '/auth/cloud/login',
    {},
  )
  expect([status, headers['x-error-code']]).toEqual([403, 'misdirected'])
  expect(text).toContain('the address of the proxy')
})
