import dns from 'node:dns'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { callWatch } from '../../support/requests/logins.ts'
import {
  AUDIENCE,
  logInWithToken,
  type TokenAccount,
  tokenAccount,
  tokenLoginErrors,
  tokenMount,
  tokenOf,
  UNTRUSTED_ISSUER,
} from '../../support/requests/web-tokens.ts'
import { clock } from '../../support/service/clock.ts'
import { aws, done, freshMount } from '../../support/service/cluster.ts'

type Claims = Record<string, unknown>

afterEach(clock.reset)

describe('login by a token that AWS signed', () => {
  let mount = ''
  let from: TokenAccount
  beforeAll(async () => {
    mount = await tokenMount()
    from = await tokenAccount()
  })

  test('creates a token for an account of the organization that was never configured', async () => {
    const { status, body, text } = await logInWithToken(mount, await tokenOf(from), { role: 'app' })
    expect(status, text).toBe(200)
    expect(body.auth).toMatchObject({
      token_policies: ['default', 'dev'],
      metadata: { account_id: from.account, auth_type: 'jwt' },
      token_type: 'service',
    })
    const { body: issuer } = await done('GET', `${mount}/config/jwt/issuer/${from.id}`)
    expect(issuer.data).toMatchObject({ account_id: from.account, learnt: true, issuer: from.issuer })
    const { body: listed } = await done('LIST', `${mount}/config/jwt/issuers`)
    expect(listed.data.key_info[from.id]).toMatchObject({ account_id: from.account, last_error: '' })
  })

  test('looks up no name on this host, also when keys are fetched', async () => {
    const lookups = vi.spyOn(dns, 'lookup')
    const unknown = await tokenAccount()
    const calls = callWatch()
    await calls()
    expect((await logInWithToken(mount, await tokenOf(unknown), { role: 'app' })).status).toBe(200)
    expect((await calls()).filter(({ service }) => service === 'oidc')).toHaveLength(1)
    expect(lookups.mock.calls.map(([name]) => name).filter(name => name !== '127.0.0.1')).toEqual([])
    lookups.mockRestore()
  })

  test('uses the name of the role in the subject by default', async () => {
    expect((await logInWithToken(mount, await tokenOf(from))).status).toBe(200)
    const other = { ...from, sub: `arn:aws:iam::${from.account}:role/Other` }
    expect(await tokenLoginErrors(mount, await tokenOf(other))).toBe('400 no role named "other"')
  })

  test('calls no AWS service once the issuer is known', async () => {
    await logInWithToken(mount, await tokenOf(from))
    const jwt = await tokenOf(from)
    const calls = callWatch()
    await calls()
    expect((await logInWithToken(mount, jwt)).status).toBe(200)
    expect(await calls()).toEqual([])
  })

  test('accepts each token once, also if it is sent twice at once', async () => {
    const jwt = await tokenOf(from)
    const replies = await Promise.all([
      logInWithToken(mount, jwt),
      logInWithToken(mount, jwt),
      logInWithToken(mount, jwt),
    ])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 400, 400])
    expect(await tokenLoginErrors(mount, jwt)).toBe('400 the token has been used; ask AWS for a new one')
  })

  test('ignores white space around a token, but does not accept the token twice for it', async () => {
    const jwt = await tokenOf(from)
    expect((await logInWithToken(mount, `${jwt}\n`)).status).toBe(200)
    expect(await tokenLoginErrors(mount, ` ${jwt}`)).toBe(
      '400 the token has been used; ask AWS for a new one',
    )
    expect(await tokenLoginErrors(mount, jwt.replace('.', '.\n'))).toBe(
      '400 jwt is not a signed token of the expected form',
    )
  })

  test('accepts a token again without single_use, and ES384 only if the mount accepts it', async () => {
    const lax = await tokenMount({ single_use: false, jwt_supported_algs: ['RS256', 'ES384'] })
    const jwt = await tokenOf(from, {}, { alg: 'ES384' })
    expect(await tokenLoginErrors(lax, jwt)).toBe('200 ')
    expect(await tokenLoginErrors(lax, jwt)).toBe('200 ')
    expect(await tokenLoginErrors(mount, jwt)).toBe(
      '400 the algorithm is not accepted here: ask AWS for RS256',
    )
  })

  test('refuses tokens at a mount without config/jwt, and at no mount', async () => {
    const { path } = await freshMount()
    const jwt = await tokenOf(from)
    expect(await tokenLoginErrors(path, jwt)).toBe('400 jwt logins are not configured')
    expect(await tokenLoginErrors('/auth/nowhere', jwt)).toBe('400 jwt logins are not configured')
  })

  const now = () => Math.floor(Date.now() / 1000)
  test.each<[string, () => Claims, string]>([
    ['another audience', () => ({ aud: `${AUDIENCE}/` }), 'the token is not for this service'],
    ['several audiences', () => ({ aud: [AUDIENCE, 'x'] }), 'the token is not for this service'],
    ['an end in the past', () => ({ iat: now() - 200, exp: now() - 61 }), 'the token has expired'],
    ['an old age', () => ({ iat: now() - 400, exp: now() + 300 }), 'the token is older than 300 seconds'],
    ['a long life', () => ({ exp: now() + 3700 }), 'the token has expired'],
    [
      'another account than its issuer',
      () => ({ aws: { aws_account: '999999999999' } }),
      'the token speaks for another account than its issuer',
    ],
    [
      'another account in its subject',
      () => ({ sub: 'arn:aws:iam::999999999999:role/app' }),
      'the token speaks for another account than its issuer',
    ],
    [
      'a session as its subject',
      () => ({ sub: `arn:aws:sts::${from.account}:assumed-role/app/x` }),
      'the subject of the token is neither a user nor a role',
    ],
    [
      'another organization',
      () => ({ aws: { org_id: 'o-zzzzzzzzzz' } }),
      'the issuer of the token is not trusted here',
    ],
    ['no jti', () => ({ jti: undefined }), 'jwt is not a signed token of the expected form'],
  ])('refuses a token with %s', async (_, claims, message) => {
    expect(await tokenLoginErrors(mount, await tokenOf(from, claims()), { role: 'app' })).toBe(
      `400 ${message}`,
    )
  })

  test('refuses a token that another account signed', async () => {
    const thief = await tokenAccount()
    await logInWithToken(mount, await tokenOf(thief), { role: 'app' })
    expect(await tokenLoginErrors(mount, await tokenOf(from, {}, { by: thief.account }))).toBe(
      '400 the signature of the token is not valid',
    )
  })

  test('refuses an unknown key ID, and learns a rotated key', async () => {
    const rotating = await tokenAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(rotating))).toBe('200 ')
    await aws.rotateIssuerKeys({ account: rotating.account })
    clock.advance(61)
    expect(await tokenLoginErrors(mount, await tokenOf(rotating))).toBe('200 ')
    expect(await tokenLoginErrors(mount, await tokenOf(rotating, {}, { header: { kid: 'RSA_9' } }))).toBe(
      '400 the token names a key that its issuer does not publish',
    )
  })

  test('answers 502 as long as a rotated key could not be fetched', async () => {
    const rotating = await tokenAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(rotating))).toBe('200 ')
    await aws.rotateIssuerKeys({ account: rotating.account })
    clock.advance(61)
    await aws.fault({ service: 'oidc', kind: 'error', times: 1 })
    for (const _ of ['fetched', 'remembered'])
      expect(await tokenLoginErrors(mount, await tokenOf(rotating))).toBe(
        '502 the keys of the issuer could not be fetched',
      )
    clock.advance(61)
    expect(await tokenLoginErrors(mount, await tokenOf(rotating))).toBe('200 ')
  })

  test('refuses the organization of a stranger without fetching keys', async () => {
    const stranger = await tokenAccount()
    const calls = callWatch()
    const jwt = await tokenOf(stranger, { aws: { org_id: 'o-zzzzzzzzzz' } })
    await calls()
    expect(await tokenLoginErrors(mount, jwt)).toBe(UNTRUSTED_ISSUER)
    expect(await calls()).toEqual([])
  })

  test('lets an address cause ten fetches of keys a minute, and known issuers none', async () => {
    const one = '127.0.8.1'
    const fetches = callWatch()
    await fetches()
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) {
      const invented = { ...from, issuer: `https://${crypto.randomUUID()}.tokens.sts.global.api.aws` }
      statuses.push((await logInWithToken(mount, await tokenOf(invented), {}, one)).status)
    }
    expect(statuses).toEqual([...Array(10).fill(400), 503, 503])
    expect((await fetches()).filter(({ service }) => service === 'oidc')).toHaveLength(10)
    expect((await logInWithToken(mount, await tokenOf(from), {}, one)).status).toBe(200)
  })

  /** Logs in by a new account, and lets its keys become older than an hour. */
  const oldAccount = async () => {
    const old = await tokenAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(old))).toBe('200 ')
    clock.advance(2 * 3600)
    const calls = callWatch()
    await calls()
    return {
      old,
      fetches: async () => (await calls()).filter(({ service }) => service === 'oidc').length,
      ageOfKeys: async () => {
        const { body } = await done('GET', `${mount}/config/jwt/issuer/${old.id}`)
        return clock.now() - Date.parse(body.data.fetched_at)
      },
    }
  }

  test('refreshes keys older than an hour with a granted login', async () => {
    const { old, fetches, ageOfKeys } = await oldAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(old))).toBe('200 ')
    expect(await fetches()).toBe(1)
    expect(await ageOfKeys()).toBeLessThan(60_000)
  })

  const SIGNATURE = '400 the signature of the token is not valid'

  test('fetches keys older than an hour once a minute for forged tokens, and does not store them', async () => {
    const { old, fetches, ageOfKeys } = await oldAccount()
    const forged = `${(await tokenOf(old)).slice(0, -8)}AAAAAAAA`
    for (let sent = 0; sent < 3; sent++) expect(await tokenLoginErrors(mount, forged)).toBe(SIGNATURE)
    expect(await fetches()).toBe(1)
    expect(await ageOfKeys()).toBeGreaterThan(3_600_000)
  })

  test('refreshes keys that a clock two hours ahead has stored', async () => {
    const from = await tokenAccount()
    clock.advance(2 * 3600)
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    clock.reset()
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    const { body } = await done('GET', `${mount}/config/jwt/issuer/${from.id}`)
    expect(Date.parse(body.data.fetched_at)).toBeLessThan(clock.now() + 60_000)
  })

  test('finds a key that AWS replaced under its ID once the stored keys are older than an hour', async () => {
    const from = await tokenAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    const kept = await tokenOf(from)
    await aws.rotateIssuerKeys({ account: from.account, keepIds: true })
    clock.advance(61)
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(SIGNATURE)
    clock.advance(2 * 3600)
    await aws.fault({ service: 'oidc', kind: 'error', times: 1 })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(SIGNATURE)
    clock.advance(61)
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    expect(await tokenLoginErrors(mount, kept)).toMatch(/^400 /)
  })

  test('refuses keys that are too old if they cannot be fetched again, and uses them before', async () => {
    const old = await tokenAccount()
    expect(await tokenLoginErrors(mount, await tokenOf(old))).toBe('200 ')
    await aws.fault({ service: 'oidc', kind: 'error', times: 2 })
    clock.advance(2 * 3600)
    expect(await tokenLoginErrors(mount, await tokenOf(old))).toBe('200 ')
    clock.advance(23 * 3600)
    expect(await tokenLoginErrors(mount, await tokenOf(old))).toBe('503 the keys of the issuer are too old')
    clock.advance(61)
    expect(await tokenLoginErrors(mount, await tokenOf(old))).toBe('200 ')
    await aws.clearFaults()
  })

  test('refuses a token together with fields of another type', async () => {
    expect(await tokenLoginErrors(mount, 'x', { pkcs7: 'y' })).toBe(
      '400 values for more than one type of login were given',
    )
    expect(await tokenLoginErrors(mount, '')).toMatch(/^400 required authentication values are missing/)
  })
})
