import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { parseJsonObject } from '../../../../shared/values/json.ts'
import { signLogin } from '../../../command/login/signed-login.ts'
import type { LocalHost } from '../../host/host.ts'
import { requestHost } from '../../pair/dr-client.ts'
import { DEMONSTRATION_INSTANCE, HOME_ACCOUNT, WORKLOAD_INSTANCE } from '../../provider/home.ts'

/** The result of a demonstration login. */
export interface DemonstratedLogin {
  type: 'ec2' | 'iam' | 'jwt'
  role: string
  policies: string[]
  /** seconds */
  ttl: number
  metadata: Record<string, string>
  /** calls by service, as the function counted them */
  calls: Record<string, number>
  milliseconds: number
}

interface LoginAnswer {
  auth: { client_token: string; policies: string[]; lease_duration: number; metadata: Record<string, string> }
}

/** The parts of a host that a demonstration uses. */
type Shown = Pick<LocalHost, 'base_url' | 'root_token' | 'cluster' | 'control'>

const ROLE_NAME = 'web-server'
const AUDIENCE = 'cloud-auth'
const ORGANIZATION = 'o-demonstrat10n'
const ORGANIZATION_PATH = `${ORGANIZATION}/r-demo/ou-demo-11111111`

/**
 * Creates accounts and workloads in the imitated AWS, and logs two workloads in. The demonstration may be
 * repeated on a kept cluster.
 */
export async function demonstrateLogins(
  host: Shown,
  callsOf: () => Record<string, number>,
): Promise<DemonstratedLogin[]> {
  const workloads = await makeWorkloads(host)
  await configure(host, workloads.certificate, workloads.roleArn)
  const ec2 = await login(
    host,
    'ec2',
    'demo-ec2',
    { pkcs7: workloads.document, nonce: 'chosen-by-the-workload' },
    callsOf,
  )
  const { role, ...proof } = await createLoginProof(host)
  const iam = await login(host, 'iam', role, proof, callsOf)
  const jwt = await login(host, 'jwt', 'demo-jwt', { jwt: await createWebToken(host) }, callsOf)
  return [ec2, iam, jwt]
}

/** Creates a token about a workload on an instance, as `sts:GetWebIdentityToken` gives it to the workload. */
export async function createWebToken(
  { control }: Pick<Shown, 'control'>,
  { instanceId } = DEMONSTRATION_INSTANCE,
): Promise<string> {
  const { account, region } = HOME_ACCOUNT
  const { issuer } = await control.federation({ account })
  const now = Math.floor(Date.now() / 1000)
  const sub = `arn:aws:iam::${account}:role/${ROLE_NAME}`
  const { token } = await control.signWebToken({
    account,
    claims: {
      iss: issuer,
      sub,
      aud: AUDIENCE,
      iat: now,
      exp: now + 300,
      jti: randomUUID(),
      'https://sts.amazonaws.com/': {
        aws_account: account,
        principal_id: sub,
        source_region: region,
        org_id: ORGANIZATION,
        ou_path: [ORGANIZATION_PATH],
        ec2_source_instance_arn: `arn:aws:ec2:${region}:${account}:instance/${instanceId}`,
      },
    },
  })
  return token
}

/**
 * Creates the parameters of an iam login for the demonstration's workload. The parameters may be reused while
 * the signature is valid.
 */
export async function createLoginProof({
  control,
}: Pick<Shown, 'control'>): Promise<Record<string, string> & { role: string }> {
  const { account } = HOME_ACCOUNT
  const session = await control.session({
    account,
    role: ROLE_NAME,
    session: DEMONSTRATION_INSTANCE.instanceId,
  })
  return { role: 'demo-iam', ...signLogin(session) }
}

async function makeWorkloads({ control }: Shown) {
  const { account } = HOME_ACCOUNT
  await control.putOrganization({ account, organizationId: ORGANIZATION, path: ORGANIZATION_PATH })
  const role = await control.putRole({ account, name: ROLE_NAME })
  const profile = await control.putInstanceProfile({ account, name: ROLE_NAME, roles: [ROLE_NAME] })
  const known = (await control.listInstances({ account, region: HOME_ACCOUNT.region })).map(
    one => one.instanceId,
  )
  for (const instance of [WORKLOAD_INSTANCE, DEMONSTRATION_INSTANCE])
    if (!known.includes(instance.instanceId))
      await control.putInstance({
        ...instance,
        imageId: 'ami-0de300000000000ff',
        instanceProfileArn: profile.arn,
        tags: { Name: 'demo' },
      })
  const { rsa2048 } = await control.documents(DEMONSTRATION_INSTANCE)
  return {
    roleArn: role.arn,
    document: rsa2048.replaceAll('\n', ''),
    certificate: (await control.authority()).rsa2048,
  }
}

async function configure(host: Shown, certificate: string, roleArn: string): Promise<void> {
  const path = 'auth/cloud'
  await requestHost(host, `${path}/config/certificate/local-aws`, {
    cloud_public_cert: Buffer.from(certificate).toString('base64'),
  })
  await requestHost(host, 'sys/policies/acl/demo', {
    policy: 'path "auth/cloud/role/*" { capabilities = ["read", "list"] }',
  })
  await requestHost(host, `${path}/role/demo-ec2`, {
    auth_type: 'ec2',
    bound_account_id: HOME_ACCOUNT.account,
    token_policies: 'demo',
    token_ttl: '30m',
  })
  await requestHost(host, `${path}/role/demo-iam`, {
    auth_type: 'iam',
    bound_iam_principal_arn: roleArn,
    token_policies: 'demo',
    token_ttl: '1h',
  })
  await requestHost(host, `${path}/config/jwt`, { bound_audiences: AUDIENCE, organizations: ORGANIZATION })
  await requestHost(host, `${path}/role/demo-jwt`, {
    auth_type: 'jwt',
    bound_organization_id: ORGANIZATION,
    bound_iam_principal_arn: roleArn,
    token_policies: 'demo',
    token_ttl: '1h',
  })
}

/** Returns the call counts in a line of the login function's log, or undefined if the line has no counts. */
export const parseCallCounts = (line: string): Record<string, number> | undefined =>
  parseJsonObject(line)?.['calls'] as Record<string, number> | undefined

async function login(
  { base_url }: Shown,
  type: DemonstratedLogin['type'],
  role: string,
  proof: Record<string, string>,
  callsOf: () => Record<string, number>,
): Promise<DemonstratedLogin> {
  const started = performance.now()
  const answer = await fetch(`${base_url}/auth/cloud/login`, {
    method: 'POST',
    body: JSON.stringify({ role, ...proof }),
  })
  const milliseconds = performance.now() - started
  if (!answer.ok) throw new Error(`${type} login: ${answer.status} ${await answer.text()}`)
  const { auth } = (await answer.json()) as LoginAnswer
  return {
    type,
    role,
    policies: auth.policies,
    ttl: auth.lease_duration,
    metadata: auth.metadata,
    calls: callsOf(),
    milliseconds,
  }
}
