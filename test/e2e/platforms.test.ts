import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { buildJob } from '../../infra/command/prove/pod.ts'
import { prepareLanguageOf } from '../support/programs/languages.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { type PagesCluster, startPagesCluster } from '../support/programs/pages-cluster.ts'
import { runContainer } from '../support/programs/pod.ts'
import { openShell } from '../support/programs/shell.ts'
import { call } from '../support/service/api.ts'

// The pages for platforms, each in a shell with the variables that the platform sets. The imitated AWS has the
// IAM role that the page binds, and the SDKs fetch its credentials from there.

const folder = 'docs/do/platforms'
const account = '111122223333'
let started: PagesCluster
beforeAll(async () => {
  started = await startPagesCluster()
})
afterAll(() => started?.end())

type Variables = Record<string, string>

/** Creates an IAM role at a path. */
const putRole = async (path: string, name: string): Promise<string> =>
  (await started.aws.putRole({ account, path, name })).arn

/** Returns the variables of a container whose credential endpoint knows a role. */
async function containerOf(path: string, role: string, session: string): Promise<Variables> {
  await putRole(path, role)
  const { token } = await started.aws.containerToken({ account, role, session })
  return {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${started.cluster.provider_url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
  }
}

/** Writes a file that only this test reads. @returns its path */
function writePrivateFile(name: string, text: string): string {
  writeFileSync(`${started.checkout}/${name}`, text, { mode: 0o600 })
  return `${started.checkout}/${name}`
}

/** Returns the variables of a program with an identity token, whose role trusts the token's subject. */
async function webIdentityOf(
  path: string,
  role: string,
  token: { issuer: string; subject: string },
  trusted = token.subject,
): Promise<Variables> {
  const audience = 'sts.amazonaws.com'
  const { issuer, subject } = token
  await started.aws.putIdentityProvider({ account, url: issuer, audiences: [audience] })
  const webIdentity = { issuer, audience: [audience], subject: [trusted] }
  const { arn } = await started.aws.putRole({ account, path, name: role, trusts: [], webIdentity })
  const issued = await started.aws.identityToken({ issuer, subject, audience })
  return {
    AWS_ROLE_ARN: arn,
    AWS_ROLE_SESSION_NAME: 'session',
    AWS_WEB_IDENTITY_TOKEN_FILE: writePrivateFile(`token-${role}`, issued.token),
    AWS_ENDPOINT_URL_STS: started.cluster.provider_url,
    AWS_REGION: 'eu-west-1',
  }
}

/** Returns the variables of a profile whose process prints a session's credentials. */
async function profileOf(profile: string, path: string, role: string, session: string): Promise<Variables> {
  await putRole(path, role)
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await started.aws.session({
    account,
    role,
    session,
  })
  const credentials = {
    Version: 1,
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    SessionToken: sessionToken,
    Expiration: expiration,
  }
  const file = writePrivateFile(`session-${profile}.json`, JSON.stringify(credentials))
  const config = `[profile ${profile}]\ncredential_process = cat ${file}\n`
  return { AWS_CONFIG_FILE: writePrivateFile(`config-${profile}`, config) }
}

/** Returns the variables that Lambda gives a function. */
async function lambdaOf(path: string, role: string, name: string): Promise<Variables> {
  await putRole(path, role)
  const session = await started.aws.session({ account, role, session: name })
  return {
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: session.accessKeyId,
    AWS_SECRET_ACCESS_KEY: session.secretAccessKey,
    AWS_SESSION_TOKEN: session.sessionToken,
  }
}

/** Makes the container's token a file, as the agent of EKS Pod Identity does. */
async function podOf(path: string, role: string): Promise<Variables> {
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN: token = '', ...rest } = await containerOf(
    path,
    role,
    'eks-prod-shop-7d9f-0b1c',
  )
  return { ...rest, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: writePrivateFile('pod-token', token) }
}

const EKS = 'https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF'
const pod = { issuer: EKS, subject: 'system:serviceaccount:shop:shop' }
const github = {
  issuer: 'https://token.actions.githubusercontent.com',
  subject: 'repo:shop/web:ref:refs/heads/main',
}
const gitlab = {
  issuer: 'https://gitlab.com',
  subject: 'project_path:shop/web:ref_type:branch:ref:main',
}
const sso = '/aws-reserved/sso.amazonaws.com/eu-west-1/'

/** Returns the variables of each platform, by page. A page may have several platforms. */
const platforms: Readonly<Record<string, Readonly<Record<string, () => Promise<Variables>>>>> = {
  'ec2.md': { instance: async () => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: started.cluster.metadata_url }) },
  'ec2-own-role.md': {
    instance: async () => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: started.cluster.metadata_url }),
  },
  'ecs.md': { task: () => containerOf('/ecs/', 'shop-task', '0f4c9a7be1d24c6f') },
  'eks.md': {
    'Pod Identity': () => podOf('/eks/', 'shop-pod'),
    IRSA: () => webIdentityOf('/eks/', 'shop-pod', pod),
  },
  'lambda.md': { function: () => lambdaOf('/service-role/', 'shop-role-4xk2', 'shop') },
  'pipelines.md': {
    'GitHub Actions': () => webIdentityOf('/ci/', 'shop-deploy', github, 'repo:shop/web:*'),
    'GitLab CI': () => webIdentityOf('/ci/', 'shop-deploy', gitlab),
  },
  'codebuild.md': { build: () => containerOf('/service-role/', 'codebuild-shop', 'AWSCodeBuild-0b1c') },
  'identity-center.md': {
    person: () => profileOf('ops', sso, 'AWSReservedSSO_Operators_0123456789abcdef', 'alice@example.com'),
  },
  'roles-anywhere.md': { machine: () => profileOf('press', '/plant/', 'press', '0a1b2c3d4e5f') },
}

/** Variables of the administrator and of the workload, which are one person here. */
const common = (): Variables => ({
  BASE: started.cluster.base_url,
  TOKEN: started.cluster.root_token,
  AWS_EC2_METADATA_DISABLED: 'true',
})

const TOKEN = /^hv[sb]\.\S+$/m
const LOGGED_IN = /^logged in for \d+ s with .*demo.*, renewed for \d+ s$/m

/** Pastes all blocks of a page into a new shell. @returns the output of each block; undefined: not shown */
async function pasteAll(blocks: readonly string[], variables: Variables): Promise<(string | undefined)[]> {
  const shell = openShell({ cwd: started.checkout, variables })
  try {
    await shell.paste('PATH=$PWD/bin:$PATH')
    const outputs: (string | undefined)[] = []
    for (const block of blocks) {
      const needed = await prepareLanguageOf(block)
      const lines = Object.entries(needed ?? {}).map(([name, value]) => `export ${name}='${value}'\n`)
      outputs.push(needed && (await shell.paste(`set -e\n${lines.join('')}${block}`)).stdout)
    }
    return outputs
  } finally {
    shell.close()
  }
}

const commonPlatforms = Object.entries(platforms).flatMap(([page, all]) =>
  Object.entries(all).map(([name, variablesOf]) => ({ page, name, variablesOf })),
)

describe('the pages for platforms', () => {
  test('are all run by this test, and have at most 60 lines', () => {
    expect(readdirSync(checkoutRoot + folder).sort()).toEqual(Object.keys(platforms).sort())
    for (const page of Object.keys(platforms))
      expect(readFileSync(`${checkoutRoot}${folder}/${page}`, 'utf8').split('\n').length, page).toBeLessThan(
        62,
      )
  })

  test.each(commonPlatforms)(
    '$page logs in from $name by shell and by SDK',
    async ({ page, variablesOf }) => {
      const environment = page === 'ec2.md' ? { AWS_EC2_METADATA_DISABLED: 'false' } : {}
      const outputs = await pasteAll(blocksOf(`${folder}/${page}`), {
        ...common(),
        ...environment,
        ...(await variablesOf()),
      })
      const shown = outputs.filter(output => output !== undefined)
      expect(shown.some(output => TOKEN.test(output))).toBe(true)
      const program = page === 'lambda.md' ? /^1 1 default demo$/m : LOGGED_IN
      // a language that the machine lacks is reported by the helper
      if (!outputs.includes(undefined))
        expect(
          shown.some(output => program.test(output)),
          shown.join(),
        ).toBe(true)
    },
  )
})

test('the page on programs logs in and renews in each language', async () => {
  const page = 'docs/do/log-in-from-code.md'
  const variables = { ...common(), ROLE: 'demo-iam', AWS_EC2_METADATA_DISABLED: 'false' }
  const outputs = await pasteAll(blocksOf(page), {
    ...variables,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: started.cluster.metadata_url,
  })
  expect(outputs).toHaveLength(5)
  for (const output of outputs) if (output !== undefined) expect(output).toMatch(LOGGED_IN)
})

test('the page on tokens of AWS switches them on, logs in by command, Node and Python, and blocks the account', async () => {
  const page = 'docs/do/jwt-logins.md'
  const member = '444455556666'
  await started.aws.putOrganization({
    account: member,
    organizationId: 'o-a1b2c3d4e5',
    path: 'o-a1b2c3d4e5/r-ab12/ou-ab12-11111111',
  })
  await started.aws.federation({ account: member })
  await started.aws.putRole({ account: member, name: 'shop' })
  const session = await started.aws.session({ account: member, role: 'shop', session: 'i-1' })
  const variables = {
    ...common(),
    AWS_ENDPOINT_URL_STS: started.cluster.provider_url,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: session.accessKeyId,
    AWS_SECRET_ACCESS_KEY: session.secretAccessKey,
    AWS_SESSION_TOKEN: session.sessionToken,
  }
  const blocks = blocksOf(page)
  const [written, byCommand, byNode, byPython, blocked, ...more] = await pasteAll(blocks, variables)
  expect(more).toEqual([])
  expect(written).toMatch(/admits every user and role/)
  expect(byCommand).toMatch(TOKEN)
  expect(byNode).toMatch(LOGGED_IN)
  // a machine without Python is reported by the helper
  if (byPython !== undefined) expect(byPython).toMatch(LOGGED_IN)
  expect(blocked).toMatch(new RegExp(`^[0-9a-f-]{36} ${member} true$`, 'm'))
  const block = (blocks.at(-1) ?? '').replace('111122223333', member)
  const again = pasteAll([blocks[0] ?? '', block, blocks[1] ?? ''], variables)
  await expect(again).rejects.toThrow(/the issuer of the token is not trusted here/)
})

test('a pod whose service account the trust policy does not name gets no credentials', async () => {
  const variables = await webIdentityOf('/eks/', 'shop-pod', pod, 'system:serviceaccount:shop:other')
  const [role = '', login = ''] = blocksOf(`${folder}/eks.md`)
  await expect(pasteAll([role, login], { ...common(), ...variables })).rejects.toThrow(
    /no AWS credentials: .*Not authorized to perform sts:AssumeRoleWithWebIdentity/,
  )
})

test('the pod of `cloud-auth prove` logs in by Pod Identity, and its log has no secret', async () => {
  const { base_url: base = '', root_token: token } = started.cluster
  const role = {
    auth_type: 'iam',
    bound_iam_principal_arn: `arn:aws:iam::${account}:role/pod-*`,
    resolve_aws_unique_ids: false,
  }
  const written = await call(base, 'POST', '/auth/cloud/role/prove-pod', role, { token })
  expect(written.status, written.text).toBe(204)
  const [container] = buildJob('0a1b2c3d', 'probe-1', base).spec.template.spec.containers
  const log = container && (await runContainer(container, await podOf('/', 'pod-role')))
  const { logins } = JSON.parse(log ?? '')
  expect(logins).toHaveLength(20)
  for (const login of logins) expect(login).toEqual({ status: 200, ms: expect.any(Number), token: true })
  // without the association of EKS Pod Identity
  const fault = container && (await runContainer(container, {}))
  expect(JSON.parse(fault ?? '')).toEqual({ fault: 'the pod has no AWS_CONTAINER_CREDENTIALS_FULL_URI' })
})
