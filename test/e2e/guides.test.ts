import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocksOf } from '../support/programs/pages.ts'
import { type PagesCluster, startPagesCluster } from '../support/programs/pages-cluster.ts'
import { openShell, type Shell } from '../support/programs/shell.ts'

// An administrator pastes the blocks of the pages for one cluster, from its first backup to its first hour
// without the root token.

const account = '111122223333'
let started: PagesCluster
let shell: Shell
beforeAll(async () => {
  started = await startPagesCluster()
  const { aws, checkout, cluster } = started
  const path = '/aws-reserved/sso.amazonaws.com/eu-west-1/'
  const role = 'AWSReservedSSO_Admins_0123456789abcdef'
  await aws.putRole({ account, path, name: role })
  const key = await aws.session({ account, role, session: 'alice@example.com' })
  shell = openShell({
    cwd: checkout,
    variables: {
      BASE: cluster.base_url,
      VAULT_ADDR: cluster.base_url.replace('/v1', ''),
      TOKEN: cluster.root_token,
      ROLE: 'administrators',
      AWS_ACCESS_KEY_ID: key.accessKeyId,
      AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
      AWS_SESSION_TOKEN: key.sessionToken,
    },
  })
  await shell.paste('set -euo pipefail; PATH=$PWD/bin:$PATH')
})
afterAll(async () => {
  shell?.close()
  await started?.end()
})

/** Pastes a block. @returns its standard output */
const paste = async (block: string | undefined): Promise<string> =>
  (await shell.paste(block ?? 'false')).stdout

describe('the pages for one cluster', () => {
  const first = blocksOf('docs/do/first-hour.md')
  const backUp = blocksOf('docs/do/back-up.md')
  const upgrade = blocksOf('docs/do/upgrade-one.md')
  const remove = blocksOf('docs/do/remove.md')
  const endAccess = blocksOf('docs/do/end-access.md')
  const laptop = blocksOf('docs/do/troubleshooting.md', 'On a laptop')

  test('have no block that this test does not run', () => {
    const pages = [first, backUp, upgrade, remove, endAccess, laptop]
    expect(pages.map(blocks => blocks.length)).toEqual([4, 2, 2, 1, 3, 1])
    expect(blocksOf('docs/do/troubleshooting.md')).toEqual(laptop)
  })

  test('"back up" saves policies, mounts, roles and settings without secrets, and writes them again', async () => {
    const at = (path: string, body: object) =>
      paste(
        `curl -sS --fail-with-body -H "X-Vault-Token: $TOKEN" $BASE/auth/cloud/config/${path} -d '${JSON.stringify(body)}'`,
      )
    await at('client', { max_retries: 3 })
    const sts_role = 'arn:aws:iam::444455556666:role/cloud-auth'
    await at('organization', { role: sts_role, external_id: 'x', max_age: '2h' })
    await at('sts/444455556666', { sts_role })
    const keys = JSON.parse(await paste(backUp[0]))
    expect(keys).toMatchObject({
      policies: expect.arrayContaining(['default', 'demo']),
      mounts: expect.arrayContaining(['cloud/']),
      roles: ['demo-ec2', 'demo-iam', 'demo-jwt'],
      settings: ['client', 'identity', 'jwt', 'organization', 'review'],
      sts: ['444455556666'],
      issuers: [expect.stringMatching(/^[0-9a-f-]{36}$/)],
    })
    const saved = readFileSync(`${started.checkout}/configuration.json`, 'utf8')
    expect(saved).not.toMatch(/hvs\.|secret_key|hmac_key/)
    expect(JSON.parse(saved)).toMatchObject({
      roles: { 'demo-iam': { token_policies: ['demo'] } },
      settings: { organization: { role: sts_role, external_id: 'x', max_age: 7200 } },
    })
    for (const path of ['client', 'organization', 'sts/444455556666'])
      await paste(`curl -sS -X DELETE -H "X-Vault-Token: $TOKEN" $BASE/auth/cloud/config/${path}`)
    // a write that warns of an unknown field has an answer with a text
    expect(await paste(backUp[1])).toBe('')
    await paste(backUp[0])
    expect(readFileSync(`${started.checkout}/configuration.json`, 'utf8')).toBe(saved)
  })

  test('"end access" revokes the tokens of a person, and disables the entity of other tokens', async () => {
    const status = (token: string) =>
      paste(
        `curl -sS -o /dev/null -w '%{http_code}' -H "X-Vault-Token: ${token}" $BASE/auth/token/lookup-self`,
      )
    const bound = `arn:aws:iam::${account}:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admins_*`
    const role = { auth_type: 'iam', bound_iam_principal_arn: bound }
    await paste(
      `curl -sS --fail-with-body -H "X-Vault-Token: $TOKEN" $BASE/auth/cloud/role/people -d '${JSON.stringify(role)}'`,
    )
    const login = 'cloud-auth login --role people'
    const [first, other] = [(await paste(login)).trim(), (await paste(login)).trim()]
    await paste('WHO=alice-example-com')
    await paste(endAccess[0])
    expect(await paste(endAccess[1])).toContain('The token is revoked.')
    expect([await status(first), await status(other)]).toEqual(['403', '403'])
    await paste(endAccess[2])
    const refused = await shell.paste('cloud-auth login --role people || echo refused')
    expect(refused.stdout).toBe('refused\n')
    await paste(`api $BASE/identity/entity/id/$ENTITY -d '{"disabled": false}'`)
    expect(await status((await paste(login)).trim())).toBe('200')
  })

  test('"first hour" makes a role for administrators, who log in without the root token', async () => {
    for (const block of first.slice(0, 2)) await paste(block)
    expect(JSON.parse(await paste(first[2])).data).toMatchObject({ token_policies: ['administrator'] })
    const ADMIN = await shell.value('ADMIN')
    expect(ADMIN).toMatch(/^hvs\./)
    await paste(first[3])
    const gone = await paste(
      `curl -sS -o /dev/null -w '%{http_code}' -H "X-Vault-Token: $TOKEN" $BASE/auth/token/lookup-self`,
    )
    expect(gone).toBe('403')
    // the administrator writes roles and policies, as the page says
    await paste('TOKEN=$ADMIN')
    await paste(first[0])
  })

  test('"upgrade" prints version and time, and checks a cluster', async () => {
    expect(await paste(upgrade[0])).toMatch(/^\d+\.\d+\.\d+\S* 20\d\d-\d\d-\d\dT[\d:]+Z\n$/)
    expect(await paste(upgrade[1])).toBe('true\n"disabled"\nlogged in\n')
  })

  test('"remove" counts the logins of each role', async () => {
    expect(await paste(remove[0])).toMatch(/^ *[1-9]\d* administrators$/m)
  })

  test('"on a laptop" finds the reason of a refused login in both logs', async () => {
    await paste('cloud-auth login --role demo-iam || true')
    const [log = '', request = '', response = ''] = (await paste(laptop[0])).split('\n')
    expect(JSON.parse(log)).toEqual({
      service: 'login',
      status: 400,
      code: 'invalid_request',
      why: 'principal-not-bound',
      reason: 'role',
    })
    expect([JSON.parse(request), JSON.parse(response)]).toMatchObject([
      { audit: 'request', role: 'demo-iam' },
      { audit: 'response', role: 'demo-iam' },
    ])
  })
})
