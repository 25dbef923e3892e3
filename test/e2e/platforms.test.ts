import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { buildJob } from '../../infra/command/prove/pod.ts'
import { prepareLanguageOf } from '../support/programs/languages.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { type PagesCluster, startPagesCluster } from '../support/programs/pages-cluster.ts'
import {
  account,
  IRSA_ROLE,
  platforms,
  pod,
  podOf,
  strangers,
  type Variables,
  webIdentityOf,
} from '../support/programs/platforms.ts'
import { runContainer } from '../support/programs/pod.ts'
import { openShell } from '../support/programs/shell.ts'
import { call } from '../support/service/api.ts'

// The pages for platforms, each in a shell with the variables that the platform sets.

const folder = 'docs/do/platforms'
let started: PagesCluster
beforeAll(async () => {
  started = await startPagesCluster()
  // the steps of the guide to which the pages link: tokens of AWS for the account, and a mount that accepts them
  await started.aws.federation({ account })
  await started.aws.putOrganization({ account, organizationId: 'o-a1b2c3d4e5', path: 'o-a1b2c3d4e5/r-ab12' })
  await pasteAll(blocksOf('docs/do/jwt-logins.md').slice(0, 1), common())
})
afterAll(() => started?.end())

/** Variables of the administrator and of the workload, which are one person here. */
const common = (): Variables => ({
  BASE: started.cluster.base_url,
  TOKEN: started.cluster.root_token,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_ENDPOINT_URL_STS: started.cluster.provider_url,
  AWS_REGION: 'eu-west-1',
})

const TOKEN = /^hv[sb]\.\S+$/m
const LOGGED_IN = /^logged in for \d+ s with .*demo.*, renewed for \d+ s$/m
const TWO_CALLS = /^1 1 default demo$/m

/** The output of a block, by the programs that the block runs. */
const printed: readonly [program: RegExp, output: RegExp][] = [
  [/^(CLOUD_AUTH_NONCE=\S+ )?cloud-auth login/m, TOKEN],
  [/^([A-Z_]+=\S+ )*(node docs|python3|go|java) /m, LOGGED_IN],
  [/^node --input-type/m, TWO_CALLS],
]

/** Returns the blocks of a page as a reader of this platform pastes them. */
const blocksFor = (page: string, role?: string): string[] =>
  blocksOf(`${folder}/${page}`).map(block =>
    role === IRSA_ROLE ? block.replace('ROLE=shop-pod ', `ROLE=${IRSA_ROLE} `) : block,
  )

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
    async ({ page, name, variablesOf }) => {
      const blocks = blocksFor(page, name === 'IRSA' ? IRSA_ROLE : undefined)
      const outputs = await pasteAll(blocks, { ...common(), ...(await variablesOf(started)) })
      const expected = blocks.map(block => printed.filter(([program]) => program.test(block)))
      expect(expected.flat().length).toBeGreaterThan(1)
      // a language that the machine lacks is reported by the helper
      for (const [index, rows] of expected.entries())
        if (outputs[index] !== undefined)
          for (const [, output] of rows) expect(outputs[index]).toMatch(output)
    },
  )

  test.each(strangers)('$page refuses $name by $bound', async ({ page, role, bound, variablesOf }) => {
    const blocks = blocksFor(page, role)
    const login = blocks.findIndex(block => block.includes('--method jwt'))
    const variables = { ...common(), ...(await variablesOf(started)) }
    await expect(pasteAll(blocks.slice(0, login + 1), variables)).rejects.toThrow(
      `the token does not satisfy role "${role}": ${bound}`,
    )
  })
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
    AWS_ACCESS_KEY_ID: session.accessKeyId,
    AWS_SECRET_ACCESS_KEY: session.secretAccessKey,
    AWS_SESSION_TOKEN: session.sessionToken,
  }
  const blocks = blocksOf(page).map(block => block.replace(account, member))
  const [written, byCommand, byNode, byPython, blocked, ...more] = await pasteAll(blocks, variables)
  expect(more).toEqual([])
  expect(written).toMatch(/admits every user and role/)
  expect(byCommand).toMatch(TOKEN)
  expect(byNode).toMatch(LOGGED_IN)
  // a machine without Python is reported by the helper
  if (byPython !== undefined) expect(byPython).toMatch(LOGGED_IN)
  expect(blocked).toMatch(new RegExp(`^[0-9a-f-]{36} ${member} true$`, 'm'))
  const again = pasteAll([blocks[0] ?? '', blocks.at(-1) ?? '', blocks[1] ?? ''], variables)
  await expect(again).rejects.toThrow(/the issuer of the token is not trusted here/)
})

test('a pod whose service account the trust policy does not name gets no credentials', async () => {
  const variables = await webIdentityOf(started, '/eks/', 'shop-pod', pod, 'system:serviceaccount:shop:other')
  const [role = '', login = ''] = blocksOf(`${folder}/eks.md`)
  await expect(pasteAll([role, login], { ...common(), ...variables })).rejects.toThrow(
    /STS gave no token: .*Not authorized to perform sts:AssumeRoleWithWebIdentity/,
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
  const log =
    container && (await runContainer(container, await podOf(started, '/', 'pod-role', 'prod/shop/web')))
  const { logins } = JSON.parse(log ?? '')
  expect(logins).toHaveLength(20)
  for (const login of logins) expect(login).toEqual({ status: 200, ms: expect.any(Number), token: true })
  // without the association of EKS Pod Identity
  const fault = container && (await runContainer(container, {}))
  expect(JSON.parse(fault ?? '')).toEqual({ fault: 'the pod has no AWS_CONTAINER_CREDENTIALS_FULL_URI' })
})
