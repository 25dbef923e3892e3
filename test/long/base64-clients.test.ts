import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { generateKey } from 'openpgp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signLogin } from '../../infra/command/login/signed-login.ts'
import { demonstrateLogins } from '../../infra/local/commands/start/demonstration.ts'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import { requestHost } from '../../infra/local/pair/dr-client.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { base64Forms } from '../builders/base64-forms.ts'
import { programs, senders } from '../support/address/clients.ts'

// Sends every base64 field in every common form with third-party HTTP clients.

interface Sent {
  path: string
  body: Record<string, unknown>
  token?: string
}
interface Answer {
  errors?: string[]
  data?: Record<string, string>
  auth?: { client_token: string }
}

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-`)
const { there, absent } = programs(senders, directory)
for (const [name, why] of absent) process.stderr.write(`ABSENT on this machine: ${name}: ${why}\n`)

let host: LocalHost
beforeAll(async () => {
  host = await startLocalHost({ cluster: 'base64', port: 0, memory: true, unlisted: true })
  await demonstrateLogins(host, () => ({}))
})
afterAll(async () => {
  await host?.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Sends a write with a client, and repeats the write when the service reports too many attempts. */
async function send(client: keyof typeof senders, { path, body, token = '' }: Sent): Promise<Answer> {
  const [command = '', ...parameters] = there.get(client) ?? []
  const child = spawn(command, parameters, {
    env: { ...process.env, ADDRESS: new URL(host.base_url).origin, VAULT_MAX_RETRIES: '0' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(`${JSON.stringify({ path, body, token })}\n`)
  const said = await text(child.stdout)
  if (!said.startsWith('{')) throw new Error(`${client}: ${said}`)
  const answer = JSON.parse(said) as Answer
  if (!answer.errors?.some(error => error.startsWith('too many attempts'))) return answer
  await setTimeout(5000)
  return send(client, { path, body, token })
}

const base64 = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64')
type Form = (base64: string) => string
interface Request extends Sent {
  done?: (answer: Answer) => Promise<unknown>
}

let instances = 0
async function documents() {
  const instance = await host.control.putInstance({
    ...HOME_ACCOUNT,
    instanceId: `i-0${String(++instances).padStart(16, '0')}`,
  })
  const { document, signature, rsa2048 } = await host.control.documents(instance)
  return { identity: base64(document), signature: bare(signature), pkcs7: bare(rsa2048) }
}
const bare = (lines: string): string => lines.replaceAll('\n', '')

/** Returns an iam login with one field in the given form. */
async function iamLogin(
  field: 'iam_request_url' | 'iam_request_body' | 'iam_request_headers',
  form: Form,
): Promise<Request> {
  const session = await host.control.session({
    account: HOME_ACCOUNT.account,
    role: 'web-server',
    session: 'workload',
  })
  const proof = signLogin(session)
  const body = { role: 'demo-iam', ...proof, [field]: form(proof[field] ?? '') }
  return { path: 'auth/cloud/login', body }
}

const asRoot = () => ({ token: host.root_token })
const cancel = () =>
  fetch(`${host.base_url}/sys/generate-root/attempt`, {
    method: 'DELETE',
    headers: { 'x-vault-token': host.root_token },
  })
/** Starts a root generation, and repeats the request when the service reports too many attempts. */
async function begin(): Promise<{ nonce: string; otp: string }> {
  await cancel()
  const answer = await fetch(`${host.base_url}/sys/generate-root/attempt`, { method: 'PUT', body: '{}' })
  if (answer.ok) return (await answer.json()) as { nonce: string; otp: string }
  await setTimeout(5000)
  return begin()
}
async function encodedToken(): Promise<{ encoded_token: string; otp: string }> {
  const { nonce, otp } = await begin()
  let last: Answer = {}
  for (const key of host.recovery_keys.slice(0, 3))
    last = await (
      await fetch(`${host.base_url}/sys/generate-root/update`, {
        method: 'PUT',
        body: JSON.stringify({ key, nonce }),
      })
    ).json()
  return { encoded_token: last.data?.['encoded_token'] ?? '', otp }
}

/** Returns for each field a request with the field in the given form. */
const fields: Readonly<Record<string, (form: Form) => Promise<Request>>> = {
  iam_request_url: form => iamLogin('iam_request_url', form),
  iam_request_body: form => iamLogin('iam_request_body', form),
  iam_request_headers: form => iamLogin('iam_request_headers', form),
  identity: async form => {
    const { identity, signature } = await documents()
    const body = { role: 'demo-ec2', identity: form(identity), signature }
    return { path: 'auth/cloud/login', body }
  },
  signature: async form => {
    const { identity, signature } = await documents()
    return { path: 'auth/cloud/login', body: { role: 'demo-ec2', identity, signature: form(signature) } }
  },
  pkcs7: async form => {
    const { pkcs7 } = await documents()
    return { path: 'auth/cloud/login', body: { role: 'demo-ec2', pkcs7: form(pkcs7) } }
  },
  cloud_public_cert: async form => {
    const { rsa2048 } = await host.control.authority()
    return {
      path: 'auth/cloud/config/certificate/formed',
      body: { cloud_public_cert: form(base64(rsa2048)) },
      ...asRoot(),
    }
  },
  policy: async form => ({
    path: 'sys/policies/acl/formed',
    body: { policy: form(base64('path "a/very/long/path/*" { capabilities = ["read", "list"] }')) },
    ...asRoot(),
  }),
  role_tag: async form => {
    const made = await requestHost(host, 'auth/cloud/role/tagged/tag', {})
    const path = `auth/cloud/roletag-denylist/${form(base64(String(made.data?.['tag_value'])))}`
    return { path, body: {}, ...asRoot() }
  },
  pgp_key: async form => {
    const { publicKey } = await generateKey({
      type: 'curve25519',
      userIDs: [{ name: 'h' }],
      format: 'object',
    })
    await cancel()
    return {
      path: 'sys/generate-root/attempt',
      body: { pgp_key: form(base64(publicKey.write())) },
      done: cancel,
    }
  },
  key: async form => {
    const { nonce } = await begin()
    const share = base64(Buffer.from(host.recovery_keys[0] ?? '', 'hex'))
    return { path: 'sys/generate-root/update', body: { nonce, key: form(share) }, done: cancel }
  },
  encoded_token: async form => {
    const { encoded_token, otp } = await encodedToken()
    return {
      path: 'sys/decode-token',
      body: { encoded_token: form(encoded_token), otp },
      done: async ({ data }) => expect(data?.['token']).toMatch(/^hvs\./),
    }
  },
}

beforeAll(async () => {
  await requestHost(host, 'auth/cloud/role/tagged', { auth_type: 'ec2', bound_region: 'x', role_tag: 'T' })
  const { rsa } = await host.control.authority()
  await requestHost(host, 'auth/cloud/config/certificate/identity', {
    cloud_public_cert: rsa,
    type: 'identity',
  })
})

test('curl and the HTTP libraries of Python and Go are installed', () => {
  expect([...there.keys()], JSON.stringify([...absent])).toEqual(Object.keys(senders))
})

const rows = Object.entries(fields).flatMap(([field, request]) =>
  Object.entries(base64Forms).map(([form, write]) => [field, form, () => request(write)] as const),
)

describe.each([...there.keys()])('%s', client => {
  test.each(rows)('%s is accepted in the form: %s', async (_field, _form, request) => {
    const { done, ...sent } = await request()
    const answer = await send(client, sent)
    expect(answer.errors).toBeUndefined()
    if (sent.path.endsWith('/login')) expect(answer.auth?.client_token).toBeTruthy()
    await done?.(answer)
  })
})
