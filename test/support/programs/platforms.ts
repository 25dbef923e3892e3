import { writeFileSync } from 'node:fs'
import type { PagesCluster } from './pages-cluster.ts'

// The variables that each platform gives a workload. The imitated AWS has the IAM role that the platform's page binds,
// and the SDKs fetch its credentials from there.

/** The account of the pages. */
export const account = '111122223333'

export type Variables = Record<string, string>

/** Creates an IAM role at a path. */
const putRole = async (on: PagesCluster, path: string, name: string): Promise<string> =>
  (await on.aws.putRole({ account, path, name })).arn

type Claims = Record<string, unknown>

/** Returns the variables of a container whose credential endpoint knows a role. */
async function containerOf(
  on: PagesCluster,
  path: string,
  role: string,
  session: string,
  claims: Claims = {},
): Promise<Variables> {
  await putRole(on, path, role)
  const { token } = await on.aws.containerToken({ account, role, session, claims })
  return {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${on.cluster.provider_url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
  }
}

/** Writes a file that only this test reads. @returns its path */
function writePrivateFile(on: PagesCluster, name: string, text: string): string {
  writeFileSync(`${on.checkout}/${name}`, text, { mode: 0o600 })
  return `${on.checkout}/${name}`
}

/** Returns the variables of a program with an identity token, whose role trusts the token's subject. */
export async function webIdentityOf(
  on: PagesCluster,
  path: string,
  role: string,
  token: { issuer: string; subject: string },
  trusted = token.subject,
): Promise<Variables> {
  const audience = 'sts.amazonaws.com'
  const { issuer, subject } = token
  await on.aws.putIdentityProvider({ account, url: issuer, audiences: [audience] })
  const webIdentity = { issuer, audience: [audience], subject: [trusted] }
  const { arn } = await on.aws.putRole({ account, path, name: role, trusts: [], webIdentity })
  const issued = await on.aws.identityToken({ issuer, subject, audience })
  return {
    AWS_ROLE_ARN: arn,
    AWS_ROLE_SESSION_NAME: 'session',
    AWS_WEB_IDENTITY_TOKEN_FILE: writePrivateFile(on, `token-${role}`, issued.token),
  }
}

/** Returns the variables of a profile whose process prints a session's credentials. */
async function profileOf(
  on: PagesCluster,
  profile: string,
  path: string,
  role: string,
  session: string,
  claims: Claims,
): Promise<Variables> {
  await putRole(on, path, role)
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await on.aws.session({
    account,
    role,
    session,
    claims,
  })
  const credentials = {
    Version: 1,
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    SessionToken: sessionToken,
    Expiration: expiration,
  }
  const file = writePrivateFile(on, `session-${profile}.json`, JSON.stringify(credentials))
  const config = `[profile ${profile}]\ncredential_process = cat ${file}\n`
  return { AWS_CONFIG_FILE: writePrivateFile(on, `config-${profile}`, config) }
}

/** Returns the variables that Lambda gives a function. */
async function lambdaOf(on: PagesCluster, name: string): Promise<Variables> {
  const role = 'shop-role-4xk2'
  await putRole(on, '/service-role/', role)
  const claims = { lambda_source_function_arn: `arn:aws:lambda:eu-west-1:${account}:function:${name}` }
  const session = await on.aws.session({ account, role, session: name, claims })
  return {
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_ACCESS_KEY_ID: session.accessKeyId,
    AWS_SECRET_ACCESS_KEY: session.secretAccessKey,
    AWS_SESSION_TOKEN: session.sessionToken,
  }
}

/** Returns the variables of a new instance in a VPC, whose profile has a role. */
async function instanceOf(on: PagesCluster, vpcId: string): Promise<Variables> {
  const place = { account, region: 'us-east-1' }
  await putRole(on, '/', 'web-server')
  const { arn } = await on.aws.putInstanceProfile({ account, name: 'web', roles: ['web-server'] })
  const { instanceId } = await on.aws.putInstance({ ...place, vpcId, instanceProfileArn: arn })
  const { url } = await on.aws.metadataPort({ ...place, instanceId })
  return { AWS_EC2_METADATA_SERVICE_ENDPOINT: url, AWS_EC2_METADATA_DISABLED: 'false' }
}

/**
 * Makes the container's token a file, as the agent of EKS Pod Identity does.
 * @param place `<cluster>/<namespace>/<service account>`; the session's tags name them
 */
export async function podOf(on: PagesCluster, path: string, role: string, place: string): Promise<Variables> {
  const [cluster, namespace, serviceAccount] = place.split('/')
  const tags = {
    'eks-cluster-arn': `arn:aws:eks:eu-west-1:${account}:cluster/${cluster}`,
    'kubernetes-namespace': namespace,
    'kubernetes-service-account': serviceAccount,
  }
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN: token = '', ...rest } = await containerOf(
    on,
    path,
    role,
    'eks-prod-shop-7d9f-0b1c',
    { principal_tags: tags },
  )
  return { ...rest, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: writePrivateFile(on, 'pod-token', token) }
}

const EKS = 'https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF'
export const pod = { issuer: EKS, subject: 'system:serviceaccount:shop:web' }
const github = {
  issuer: 'https://token.actions.githubusercontent.com',
  subject: 'repo:shop@1234/web@5678:ref:refs/heads/main',
}
const gitlab = {
  issuer: 'https://gitlab.com',
  subject: 'project_path:shop/web:ref_type:branch:ref:main',
}

const task = (on: PagesCluster, name: string) => containerOf(on, '/ecs/', name, '0f4c9a7be1d24c6f')
const build = (on: PagesCluster, name: string) => containerOf(on, '/service-role/', name, 'AWSCodeBuild-0b1c')
const person = (on: PagesCluster, id: string) =>
  profileOf(
    on,
    'ops',
    '/aws-reserved/sso.amazonaws.com/eu-west-1/',
    'AWSReservedSSO_Operators_0123456789abcdef',
    'alice@example.com',
    { identity_store_user_id: id },
  )
const machine = (on: PagesCluster, name: string) =>
  profileOf(on, 'press', '/plant/', 'press', '0a1b2c3d4e5f', { principal_tags: { 'x509Subject/CN': name } })

export const IRSA_ROLE = 'shop-irsa'

/** Returns the variables of each platform, by page. A page may have several platforms. */
export const platforms: Readonly<
  Record<string, Readonly<Record<string, (on: PagesCluster) => Promise<Variables>>>>
> = {
  'ec2.md': { instance: on => instanceOf(on, 'vpc-0a1b2c3d4e5f60718') },
  'ec2-own-role.md': {
    instance: async on => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: on.cluster.metadata_url }),
  },
  'ecs.md': { task: on => task(on, 'shop-task') },
  'eks.md': {
    'Pod Identity': on => podOf(on, '/eks/', 'shop-pod', 'prod/shop/web'),
    IRSA: on => webIdentityOf(on, '/eks/', 'shop-pod', pod),
  },
  'lambda.md': { function: on => lambdaOf(on, 'shop') },
  'pipelines.md': {
    'GitHub Actions': on => webIdentityOf(on, '/ci/', 'shop-deploy', github, 'repo:shop@1234/web@5678:*'),
    'GitLab CI': on => webIdentityOf(on, '/ci/', 'shop-deploy', gitlab),
  },
  'codebuild.md': { build: on => build(on, 'codebuild-shop') },
  'identity-center.md': { person: on => person(on, '74f8b4c8-5011-70c5-9d2e-0a1b2c3d4e5f') },
  'roles-anywhere.md': { machine: on => machine(on, 'press-7') },
}

/** A workload that a page's jwt role refuses, the role, and the bound that the answer names. */
export interface Stranger {
  page: string
  name: string
  role: string
  bound: string
  variablesOf(on: PagesCluster): Promise<Variables>
}

export const strangers: readonly Stranger[] = [
  {
    page: 'ec2.md',
    name: 'an instance of another VPC',
    role: 'web',
    bound: 'bound_vpc_id',
    variablesOf: on => instanceOf(on, 'vpc-0f0f0f0f0f0f0f0f0'),
  },
  {
    page: 'ecs.md',
    name: 'a task with another role',
    role: 'shop-ecs',
    bound: 'bound_iam_principal_arn',
    variablesOf: on => task(on, 'other-task'),
  },
  {
    page: 'eks.md',
    name: 'a pod of another cluster',
    role: 'shop-pod',
    bound: 'bound_eks_cluster_arn',
    variablesOf: on => podOf(on, '/eks/', 'shop-pod', 'test/shop/web'),
  },
  {
    page: 'eks.md',
    name: 'a pod of another namespace',
    role: 'shop-pod',
    bound: 'bound_kubernetes_namespace',
    variablesOf: on => podOf(on, '/eks/', 'shop-pod', 'prod/other/web'),
  },
  {
    page: 'eks.md',
    name: 'a pod of another service account',
    role: 'shop-pod',
    bound: 'bound_kubernetes_service_account',
    variablesOf: on => podOf(on, '/eks/', 'shop-pod', 'prod/shop/other'),
  },
  {
    page: 'eks.md',
    name: 'a pod with an identity token of another cluster',
    role: IRSA_ROLE,
    bound: 'bound_federated_provider',
    variablesOf: on => webIdentityOf(on, '/eks/', 'shop-pod', { ...pod, issuer: `${EKS}0` }),
  },
  {
    page: 'lambda.md',
    name: 'another function with the same execution role',
    role: 'shop-lambda',
    bound: 'bound_lambda_function_arn',
    variablesOf: on => lambdaOf(on, 'other'),
  },
  {
    page: 'pipelines.md',
    name: 'a pipeline of another server',
    role: 'shop-ci',
    bound: 'bound_federated_provider',
    variablesOf: on =>
      webIdentityOf(on, '/ci/', 'shop-deploy', { ...gitlab, issuer: 'https://gitlab.example.com' }),
  },
  {
    page: 'codebuild.md',
    name: 'a build of another project',
    role: 'shop-build',
    bound: 'bound_iam_principal_arn',
    variablesOf: on => build(on, 'codebuild-other'),
  },
  {
    page: 'identity-center.md',
    name: 'another person with the permission set',
    role: 'operators',
    bound: 'bound_identity_store_user_id',
    variablesOf: on => person(on, '94f8b4c8-5011-70c5-9d2e-0a1b2c3d4e5f'),
  },
  {
    page: 'roles-anywhere.md',
    name: 'a machine with another certificate',
    role: 'press-7',
    bound: 'bound_principal_tags',
    variablesOf: on => machine(on, 'press-8'),
  },
]
