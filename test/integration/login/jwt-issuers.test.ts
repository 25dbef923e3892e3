import { describe, expect, test } from 'vitest'
import {
  logInWithToken,
  tokenAccount,
  tokenLoginErrors,
  tokenMount,
  tokenOf,
  UNTRUSTED_ISSUER,
} from '../../support/requests/web-tokens.ts'
import { api, aws, done } from '../../support/service/cluster.ts'

describe('issuers', () => {
  test('of an account that has another issuer replace the learnt one, but not a blocked or a configured one', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const { body } = await logInWithToken(mount, await tokenOf(from))
    const renewed = await aws.federation({ account: from.account, renew: true })
    const next = { ...from, ...renewed }
    expect(await tokenLoginErrors(mount, await tokenOf(next))).toBe('200 ')
    const token = body.auth.client_token
    expect((await api('POST', '/auth/token/renew-self', {}, { token })).status).toBe(403)
    await done('POST', `${mount}/config/jwt/issuer/${next.id}`, { blocked: true, account_id: from.account })
    expect(await tokenLoginErrors(mount, await tokenOf(next))).toBe(UNTRUSTED_ISSUER)
    const again = { ...from, ...(await aws.federation({ account: from.account, renew: true })) }
    expect(await tokenLoginErrors(mount, await tokenOf(again))).toBe(
      '400 the token speaks for another account than its issuer',
    )
  })

  test('that were learnt stay learnt when they are blocked and unblocked', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const place = `${mount}/config/jwt/issuer/${from.id}`
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    await done('POST', place, { blocked: true })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(UNTRUSTED_ISSUER)
    await done('POST', place, { blocked: false })
    expect((await done('GET', place)).body.data).toMatchObject({ learnt: true, blocked: false })
    await done('POST', `${mount}/config/jwt`, { organizations: 'o-zzzzzzzzzz' })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(UNTRUSTED_ISSUER)
    await done('POST', place, { account_id: from.account })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
  })

  test('can be blocked although their keys cannot be fetched', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const place = `${mount}/config/jwt/issuer/${from.id}`
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    const jwt = await tokenOf(from)
    const renewed = await aws.federation({ account: from.account, renew: true })
    await done('POST', place, { blocked: true })
    expect(await tokenLoginErrors(mount, jwt)).toBe(UNTRUSTED_ISSUER)
    // a new issuer of the account would evade the block
    expect(await tokenLoginErrors(mount, await tokenOf({ ...from, ...renewed }))).toBe(UNTRUSTED_ISSUER)
    const { body } = await api('POST', place, { blocked: false })
    expect(body.errors[0]).toContain('the keys of the issuer could not be fetched: unknown')
  })

  test('of a blocked account are refused, and tokens of the account cannot be renewed', async () => {
    const mount = await tokenMount()
    const from = await tokenAccount()
    const { body } = await logInWithToken(mount, await tokenOf(from))
    const renew = () => api('POST', '/auth/token/renew-self', {}, { token: body.auth.client_token })
    expect((await renew()).status).toBe(200)
    await done('POST', `${mount}/config/jwt`, { blocked_accounts: from.account })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(UNTRUSTED_ISSUER)
    expect((await renew()).status).toBe(403)
    await done('POST', `${mount}/config/jwt`, { blocked_accounts: '' })
    expect((await renew()).status).toBe(200)
    await done('POST', `${mount}/config/jwt`, { organizations: '' })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(UNTRUSTED_ISSUER)
    expect((await renew()).status).toBe(403)
  })

  test('that are configured need no organization, and their keys are fetched by the write', async () => {
    const mount = await tokenMount(
      { organizations: '' },
      { bound_organization_id: '', bound_iam_principal_arn: '', bound_account_id: '111122223333' },
    )
    const from = await tokenAccount()
    await done('POST', `${mount}/role/app`, { bound_account_id: from.account })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(UNTRUSTED_ISSUER)
    const place = `${mount}/config/jwt/issuer/${from.id}`
    await done('POST', place, { account_id: from.account })
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe('200 ')
    expect((await done('GET', place)).body.data).toMatchObject({
      learnt: false,
      keys: [
        { kid: 'RSA_0', alg: 'RS256' },
        { kid: 'EC384_0', alg: 'ES384' },
      ],
    })
    await done('DELETE', place)
    expect(await tokenLoginErrors(mount, await tokenOf(from))).toBe(UNTRUSTED_ISSUER)
    const unknown = await api('POST', `${mount}/config/jwt/issuer/00000000-0000-4000-8000-000000000000`, {
      account_id: from.account,
    })
    expect(unknown.body.errors[0]).toContain('the keys of the issuer could not be fetched: unknown')
  })
})
