import { signedLogin } from '../../infra/command/login/signed-login.ts'
import type { Host } from '../../infra/local/host/host.ts'
import { HOME } from '../../infra/local/provider/home.ts'
import { type Key, key } from '../../shared/storage/kinds.ts'
import { call } from '../support/service/api.ts'
import type { FloorEvent } from './floor.ts'

/** A fleet that logs in, and what each of its logins looks like. */
export interface World {
  /** bodies of logins, each of another instance with its own nonce */
  ec2: string[]
  /** bodies of logins with one signed request, which holds for 15 minutes */
  iam: string[]
  floor: { ec2: FloorEvent; iam: FloorEvent }
}

const ROLE = 'bench'

/** A cluster of which its API and its AWS are known. */
type Reached = Pick<Host, 'base_url' | 'root_token' | 'control'>

async function write(host: Reached, path: string, body: unknown): Promise<void> {
  const reply = await call(host.base_url, 'POST', path, body, { token: host.root_token })
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.text}`)
}

const signedNow = async ({ control }: Pick<Reached, 'control'>): Promise<Record<string, string>> =>
  signedLogin(await control.session({ account: HOME.account, role: ROLE, session: 'bench' }))

const iamBody = (signed: Record<string, string>): string => JSON.stringify({ role: 'worker', ...signed })

/** The body of an iam login that is signed now, and holds for 15 minutes. */
export const iamLogin = async (host: Pick<Reached, 'control'>): Promise<string> =>
  iamBody(await signedNow(host))

/** Makes the fleet, and what its logins are made of. */
export async function makeFleet(host: Reached, instances: number) {
  const { control } = host
  const role = await control.putRole({ account: HOME.account, name: ROLE })
  const authority = await control.authority()
  await write(host, '/auth/cloud/config/certificate/local', {
    cloud_public_cert: Buffer.from(authority.rsa2048).toString('base64'),
  })
  await write(host, '/auth/cloud/role/fleet', {
    auth_type: 'ec2',
    bound_account_id: HOME.account,
    token_policies: 'dev',
  })
  await write(host, '/auth/cloud/role/worker', {
    auth_type: 'iam',
    bound_iam_principal_arn: role.arn,
    token_policies: 'dev',
  })
  const made = await Promise.all(Array.from({ length: instances }, () => control.putInstance({ ...HOME })))
  const documents = await Promise.all(made.map(instance => control.documents(instance)))
  const ec2 = documents.map(({ rsa2048 }, index) =>
    JSON.stringify({ role: 'fleet', pkcs7: rsa2048.replaceAll('\n', ''), nonce: `nonce-of-${index}` }),
  )
  const signed = await signedNow(host)
  const iam = [iamBody(signed)]
  return { ec2, iam, documents, made, signed, authority }
}

export async function makeWorld(host: Host, instances: number): Promise<World> {
  const { control } = host
  const { ec2, iam, documents, made, signed, authority } = await makeFleet(host, instances)
  const { environment } = host.runtimeOf('login')
  const mount = await call(host.base_url, 'GET', '/sys/auth/cloud', undefined, { token: host.root_token })
  const accessor = String(mount.body.data.accessor)
  const signedForm = await control.signDocument({ document: documents[0]?.document ?? '' })
  const shared = {
    tables: { data: environment['DATA_TABLE'] ?? '', cluster: environment['CLUSTER_TABLE'] ?? '' },
    certificate: authority.rsa,
    document: documents[0]?.document ?? '',
    signature: signedForm.signature,
    instanceId: made[0]?.instanceId ?? '',
    sts: {
      url: host.provider_url,
      host: 'sts.amazonaws.com',
      headers: JSON.parse(
        Buffer.from(signed['iam_request_headers'] ?? '', 'base64').toString('utf8'),
      ) as Record<string, string>,
      body: Buffer.from(signed['iam_request_body'] ?? '', 'base64').toString('utf8'),
    },
  }
  return {
    ec2,
    iam,
    floor: {
      ec2: {
        ...shared,
        type: 'ec2',
        body: ec2[0] ?? '',
        ...ec2Reads(accessor, shared.instanceId),
      },
      iam: { ...shared, type: 'iam', body: iam[0] ?? '', ...iamReads(accessor) },
    },
  }
}

const plain = (keys: readonly Key[]) => keys.map(({ pk, sk }) => ({ pk, sk }))

/** The items that a login of each type reads, beside the cluster record: before AWS is asked, and after. */
function ec2Reads(mount: string, instanceId: string): Pick<FloorEvent, 'before' | 'after'> {
  const proof = [key('mounts-revision'), key('certificate', mount, 'local')]
  const facts = [
    key('client-config', mount),
    key('identity-config', mount),
    key('role', mount, 'fleet'),
    key('sts-role', mount, HOME.account),
    key('access', mount, instanceId),
    key('tidy-settings', mount, 'identity-accesslist'),
    key('alias', mount, 'x'),
  ]
  return { before: [plain([...proof, ...facts])], after: plain([...proof, ...facts]) }
}

function iamReads(mount: string): Pick<FloorEvent, 'before' | 'after'> {
  const form = [key('mounts-revision'), key('client-config', mount)]
  const facts = [key('identity-config', mount), key('role', mount, 'worker'), key('alias', mount, 'x')]
  return { before: [plain(form)], after: plain([...form, ...facts]) }
}

/** A login as the gateway hands it to the Lambda. */
export const loginEvent = (body: string) => ({
  version: '2.0',
  rawPath: '/v1/auth/cloud/login',
  rawQueryString: '',
  headers: { 'content-type': 'application/json' },
  requestContext: { requestId: 'bench', http: { method: 'POST', sourceIp: '127.0.0.1' } },
  body,
  isBase64Encoded: false,
})
