import { signLogin } from '../../infra/command/login/signed-login.ts'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { call } from '../support/service/api.ts'

/** A fleet that logs in, with the bodies of its logins. */
export interface World {
  /** bodies of ec2 logins, each of another instance with its own nonce */
  ec2: string[]
  /** bodies of iam logins with one signed request, valid for 15 minutes */
  iam: string[]
}

const ROLE = 'bench'

/** A cluster with known API and AWS. */
type Reached = Pick<LocalHost, 'base_url' | 'root_token' | 'control'>

/** Writes as the root token. @throws if the write is refused */
export async function write(
  host: Pick<LocalHost, 'base_url' | 'root_token'>,
  path: string,
  body: unknown,
): Promise<void> {
  const reply = await call(host.base_url, 'POST', path, body, { token: host.root_token })
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.text}`)
}

/** Signs an iam login now and returns its body, which is valid for 15 minutes. */
export async function iamLogin({ control }: Pick<Reached, 'control'>): Promise<string> {
  const session = await control.session({ account: HOME_ACCOUNT.account, role: ROLE, session: 'bench' })
  return JSON.stringify({ role: 'worker', ...signLogin(session) })
}

/** Makes a fleet and the bodies of its logins. */
export async function makeWorld(host: Reached, instances: number): Promise<World> {
  const { control } = host
  const role = await control.putRole({ account: HOME_ACCOUNT.account, name: ROLE })
  const authority = await control.authority()
  await write(host, '/auth/cloud/config/certificate/local', {
    cloud_public_cert: Buffer.from(authority.rsa2048).toString('base64'),
  })
  await write(host, '/auth/cloud/role/fleet', {
    auth_type: 'ec2',
    bound_account_id: HOME_ACCOUNT.account,
    token_policies: 'dev',
  })
  await write(host, '/auth/cloud/role/worker', {
    auth_type: 'iam',
    bound_iam_principal_arn: role.arn,
    token_policies: 'dev',
  })
  const made = await Promise.all(
    Array.from({ length: instances }, () => control.putInstance({ ...HOME_ACCOUNT })),
  )
  const documents = await Promise.all(made.map(instance => control.documents(instance)))
  const ec2 = documents.map(({ rsa2048 }, index) =>
    JSON.stringify({ role: 'fleet', pkcs7: rsa2048.replaceAll('\n', ''), nonce: `nonce-of-${index}` }),
  )
  return { ec2, iam: [await iamLogin(host)] }
}

/** Returns a login event in the form in which the gateway passes it to the Lambda. */
export const loginEvent = (body: string, path = 'cloud') => ({
  version: '2.0',
  rawPath: `/v1/auth/${path}/login`,
  rawQueryString: '',
  headers: { 'content-type': 'application/json' },
  requestContext: { requestId: 'bench', http: { method: 'POST', sourceIp: '127.0.0.1' } },
  body,
  isBase64Encoded: false,
})
