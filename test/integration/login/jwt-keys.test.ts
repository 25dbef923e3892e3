import { expect, test } from 'vitest'
import { tokenAccount, tokenMount, tokenOf } from '../../support/requests/web-tokens.ts'
import { api, aws, done } from '../../support/service/cluster.ts'

test('a key in memory counts only while the issuer has it: another key under its ID replaces it at once', async () => {
  const mount = await tokenMount()
  const from = await tokenAccount()
  const place = `${mount}/config/jwt/issuer/${from.id}`
  const logIn = async (jwt: string) => {
    const { status, body } = await api('POST', `${mount}/login`, { jwt }, { token: '' })
    return `${status} ${(body.errors ?? []).join('; ')}`
  }
  expect(await logIn(await tokenOf(from))).toBe('200 ')
  const kept = await tokenOf(from)
  await aws.rotateIssuerKeys({ account: from.account, keepIds: true })
  const fresh = await tokenOf(from)
  expect(await logIn(fresh)).toBe('400 the signature of the token is not valid')
  // an administrator's write fetches the keys
  await done('POST', place, { account_id: from.account })
  expect(await logIn(kept)).toBe('400 the signature of the token is not valid')
  expect(await logIn(fresh)).toBe('200 ')
})
