import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { findFreePort } from '../../infra/local/os/loopback.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { type PagesCluster, startPagesCluster } from '../support/programs/pages-cluster.ts'
import { openShell, type Shell } from '../support/programs/shell.ts'

// A new user starts a cluster and pastes the blocks of the README, the tutorial, and the pages on checking
// tokens, the imitated AWS and the command.

let started: PagesCluster
let shell: Shell
beforeAll(async () => {
  started = await startPagesCluster()
  shell = openShell({ cwd: started.checkout })
})
afterAll(async () => {
  shell?.close()
  await started?.end()
})

/** Answers of a machine that is busy with other tests. */
const BUSY = /did not answer in time|"errors":\["[^"]*try again/

/** Pastes a block, and repeats the block when the machine was too busy. @throws when a line fails */
async function paste(block: string): Promise<string> {
  const noting = `FAILED=; trap 'FAILED=yes' ERR\n${block}\n[ -z "$FAILED" ]`
  const result = await shell.attempt(noting)
  if (BUSY.test(result.stdout)) return paste(block)
  if (result.status !== 0) throw new Error(`${block}\n${result.stdout}${result.stderr}`)
  return result.stdout
}

describe('the README', () => {
  const [logins = '', ...further] = blocksOf('README.md')

  test('has no block that this test does not run', () => expect(further).toEqual([]))

  test('prints a token of each type with its logins', async () => {
    const answers = await paste(logins)
    expect([...answers.matchAll(/"auth_type": "(ec2|iam)"/g)].map(([, type]) => type)).toEqual(['ec2', 'iam'])
    expect(answers).toMatch(/"client_token": "hvs\./)
  })
})

describe('the tutorial in the shell of the README', () => {
  const page = 'docs/learn/log-in-by-hand.md'
  const [variables = '', login = '', examples = '', token = '', administration = '', ...refusal] =
    blocksOf(page)
  const [refused = '', explained = '', ...further] = refusal

  test('has no block that this test does not run', () => expect(further).toEqual([]))

  test('returns a token for an ec2 login by hand, also repeated', async () => {
    await paste(variables)
    for (const _ of ['first', 'again']) {
      const { auth } = JSON.parse(await paste(login))
      expect(auth).toMatchObject({ lease_duration: 1800, policies: ['default', 'demo'] })
      expect(auth.client_token).toMatch(/^hvs\./)
    }
  })

  test('prints a token with each example, and explain reports that the login would succeed', async () => {
    const shown = await paste(examples)
    const tokens = [...shown.matchAll(/"client_token": "(hvs\.[^"]+)"/g)]
    expect(new Set(tokens.map(([, token]) => token)).size).toBe(2)
    expect(shown).toMatch(/"auth_type": "ec2"[\s\S]*"auth_type": "iam"/)
    expect(shown).toMatch(/^would succeed: true$/m)
    expect(shown).toMatch(/^pass +bound_account_id {2}saw "111122223333"$/m)
    expect(shown).not.toMatch(/^fail/m)
  })

  test('logs in with a token that AWS signs', async () => {
    expect(await paste(token)).toBe('logged in for 3600 s with default,demo, renewed for 3600 s\n')
  })

  test('prints one line for a failed login, and explain names the failed check', async () => {
    const refused = await shell.attempt('NONCE=of-a-stranger ROLE=demo-ec2 node docs/examples/ec2-login.mjs')
    expect(refused).toEqual({ status: 1, stdout: '', stderr: 'nonce does not match\n' })
    const shown = await paste('NONCE=of-a-stranger ROLE=demo-ec2 node docs/examples/explain.mjs')
    expect(shown).toMatch(/^would succeed: false$/m)
    expect(shown).toMatch(/^fail +reauthentication .*nonce does not match$/m)
  })

  test('uses the token within its policies, and creates a role with the root token', async () => {
    const shown = await paste(administration)
    expect(shown).toContain('"path":"auth/cloud/login"')
    expect(shown).toMatch(/"token_policies":\["reader"\]/)
    expect(shown).toMatch(/"keys":\["demo-ec2","demo-iam","demo-jwt","worker"\]/)
    expect(shown).toContain('"cluster_name":"local"')
  })

  test('has an iam login refused, and explains it as the page prints', async () => {
    expect(await paste(refused)).toMatch(/^exit code 1$/m)
    const printed = readFileSync(`${checkoutRoot}${page}`, 'utf8')
    const [, expected = ''] = /```text\n([\s\S]*?)```/.exec(printed) ?? []
    expect(expected).toMatch(/^fail /)
    const shown = await paste(explained)
    expect(shown).toContain(expected)
    expect(shown).toMatch(/would fail at the check "bound_iam_principal_arn wildcard".*\nexit code 4\n$/)
  })
})

describe('the page on checking tokens', () => {
  const [service = '', shown = '', revoked = '', ...further] = blocksOf('docs/do/check-token.md')

  test('has no block that this test does not run', () => expect(further).toEqual([]))

  test('has a service that answers only tokens with the policy', async () => {
    await paste(`export PORT=${await findFreePort()}\n${service}`)
    const [good = '', none = ''] = (await paste(shown)).split('\n')
    expect(good).toMatch(/^good day, .*"account_id":"111122223333"/)
    expect(none).toMatch(/^show a token/)
    const answers = await paste(
      `status() { curl -sS -o /dev/null -w '%{http_code} ' "$@" http://127.0.0.1:$PORT/; }
status; status -H 'Authorization: Basic eDp5'; status -H "Authorization: Bearer $TOKEN"; status -H "Authorization: Bearer $MINE"`,
    )
    expect(answers.trim()).toBe('401 401 403 200')
  })

  test('has a service that rejects a revoked token after its cache time', async () => {
    expect(await paste(revoked)).toMatch(/show a token/)
  })
})

describe('the page on the imitated AWS', () => {
  const [variables = '', role = '', fault = '', ...further] = blocksOf('docs/look-up/imitated-aws.md')

  test('has no block that this test does not run', () => expect(further).toEqual([]))

  test('creates a role and a session, throttles STS, and shows the calls', async () => {
    await paste(variables)
    const [made = '', session = ''] = (await paste(role)).trim().split('\n')
    expect(JSON.parse(made)).toMatchObject({ arn: 'arn:aws:iam::111122223333:role/builder' })
    expect(JSON.parse(session)).toMatchObject({ sessionToken: expect.any(String) })
    const shown = await paste(fault)
    expect(shown).toContain('{"service":"sts","action":"GetCallerIdentity"}')
  })
})

describe('the page on the command', () => {
  const [iam = '', ec2 = '', lines = '', revoke = '', ...further] = blocksOf(
    'docs/look-up/command.md',
    'Log in',
  )
  const [dry = '', explain = '', ...others] = blocksOf('docs/look-up/command.md', 'A refused login')
  const [helper = '', ...more] = blocksOf('docs/look-up/command.md', 'A token helper')

  test('has no block that neither this test nor the runbooks run', () => {
    const headings = ['Log in', 'A refused login', 'A token helper', 'Status', 'Switch']
    const run = headings.flatMap(heading => blocksOf('docs/look-up/command.md', heading))
    expect([...further, ...others, ...more]).toEqual([])
    expect(blocksOf('docs/look-up/command.md')).toEqual(run)
  })

  test('prints a token with each login, and lines that the shell evaluates', async () => {
    await paste('PATH=$PWD/bin:$PATH')
    for (const block of [iam, ec2]) expect(await paste(block)).toMatch(/^hvs\.\S+\n$/)
    expect(JSON.parse(await paste(lines)).data).toMatchObject({ policies: ['default', 'demo'] })
    expect(await paste(helper)).toMatch(/^hvs\.\S+$/)
  })

  test('revokes the token of a workload by its accessor', async () => {
    expect(await paste(revoke)).toBe('The token is revoked.\n')
  })

  test('explains a login that a workload wrote to a file', async () => {
    expect(await paste(`${dry}\n${explain}`)).toContain('A login with role demo-iam would succeed.')
  })
})
