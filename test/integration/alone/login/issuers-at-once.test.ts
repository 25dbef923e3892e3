import { randomUUID } from 'node:crypto'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { ISSUER_ID, signToken, usualClaims } from '../../../builders/web-token.ts'
import { tokenAccount, tokenMount, tokenOf } from '../../../support/requests/web-tokens.ts'
import { clock } from '../../../support/service/clock.ts'
import { api, aws, done, storage } from '../../../support/service/cluster.ts'
import { acceptUsualTokens, logInByToken, usualToken } from '../../../support/set/jwt-logins.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// What happens to issuers while logins run, and to logins while an issuer's keys change.

afterEach(clock.reset)

const TOGETHER = 20
/** as long as a transaction takes on AWS */
const LOCKED_MS = 10

test('logins at once with a key that AWS rotated all succeed, and store the key', async () => {
  onTestFinished(storage.reset)
  const mount = await tokenMount()
  const from = await tokenAccount()
  const login = async (jwt: string) => (await api('POST', `${mount}/login`, { jwt }, { token: '' })).status
  expect(await login(await tokenOf(from))).toBe(200)
  await aws.rotateIssuerKeys({ account: from.account })
  clock.advance(61)
  const tokens = await Promise.all(Array.from({ length: TOGETHER }, () => tokenOf(from)))
  await storage.awsLike(LOCKED_MS)
  expect(await Promise.all(tokens.map(login))).toEqual(tokens.map(() => 200))
  const { body } = await done('GET', `${mount}/config/jwt/issuer/${from.id}`)
  expect(Date.parse(body.data.changed_at)).toBeGreaterThan(clock.now() - 60_000)
})

const ACCOUNT = usualClaims.sub.split(':')[4] ?? ''
const CONFIG = '/auth/cloud/config/jwt'
const UNTRUSTED = '400 the issuer of the token is not trusted here'

test.each<[change: string, method: string, path: string, body: object, answer: string]>([
  ['a block of the account', 'POST', CONFIG, { blocked_accounts: ACCOUNT }, UNTRUSTED],
  ['another organization', 'POST', CONFIG, { organizations: 'o-zzzzzzzzzz' }, UNTRUSTED],
  ['another audience', 'POST', CONFIG, { bound_audiences: 'x' }, '400 the token is not for this service'],
  ['the deletion of config/jwt', 'DELETE', CONFIG, {}, '400 jwt logins are not configured'],
  ['the deletion of the mount', 'DELETE', '/sys/auth/cloud', {}, '400 jwt logins are not configured'],
  ['the deletion of the role', 'DELETE', '/auth/cloud/role/app', {}, '400 no role named "app"'],
  [
    'a bound of the role',
    'POST',
    '/auth/cloud/role/app',
    { bound_account_id: '999999999999' },
    '400 the token does not satisfy role "app": bound_account_id',
  ],
])('a login that fetches keys applies %s that happens meanwhile', async (_, method, path, body, answer) => {
  const set = await clusterSet(['east'], { memory: true })
  await acceptUsualTokens(set, ['east'])
  const { ports, request } = set.at('east')
  const { fetch } = ports.issuerKeys
  ports.issuerKeys = {
    fetch: async (...of) => {
      await request(method, path, body)
      return fetch(...of)
    },
  }
  expect(await logInByToken(set, 'east', usualToken(set, 'meanwhile'))).toBe(answer)
})

const OTHER_ID = randomUUID()

/** A token of another issuer of the usual account. */
const otherToken = (set: ClusterSet): string => {
  const iat = Math.floor(set.clock.now() / 1000)
  const iss = `https://${OTHER_ID}.tokens.sts.global.api.aws`
  return signToken({ ...usualClaims, iss, iat, exp: iat + 300, jti: randomUUID() })
}

const issuerPath = (id: string) => `/auth/cloud/config/jwt/issuer/${id}`

test('the block of an issuer that was replaced does not end the issuer that replaced it', async () => {
  const set = await clusterSet(['east'], { memory: true })
  await acceptUsualTokens(set, ['east'])
  expect(await logInByToken(set, 'east', usualToken(set, 'before'))).toBe('200')
  expect(await logInByToken(set, 'east', otherToken(set))).toBe('200')
  await set.at('east').ok('POST', issuerPath(ISSUER_ID), { blocked: true })
  expect(await logInByToken(set, 'east', otherToken(set))).toBe('200')
  const { body } = await set.at('east').ok('GET', issuerPath(ISSUER_ID))
  expect(body.data).toMatchObject({ blocked: true, superseded: true, learnt: true })
  // a write of the account lets the issuer speak for the account again
  await set.at('east').ok('POST', issuerPath(ISSUER_ID), { account_id: ACCOUNT, blocked: false })
  expect(await logInByToken(set, 'east', usualToken(set, 'again'))).toBe('200')
  expect(await logInByToken(set, 'east', otherToken(set))).toBe(UNTRUSTED)
})

test('the block of an issuer remains when a login stores refreshed keys meanwhile', async () => {
  const set = await clusterSet(['east'], { memory: true })
  await acceptUsualTokens(set, ['east'])
  const { ports, ok } = set.at('east')
  expect(await logInByToken(set, 'east', usualToken(set, 'first'))).toBe('200')
  set.pass(2 * 3_600_000)
  const { commit } = ports.store
  let commits = 0
  ports.store.commit = async (...of) => {
    commits += 1
    // the first commit stores the token, the second one the keys
    if (commits === 2) {
      ports.store.commit = commit
      await ok('POST', issuerPath(ISSUER_ID), { blocked: true })
    }
    return commit(...of)
  }
  expect(await logInByToken(set, 'east', usualToken(set, 'second'))).toBe('200')
  expect(ports.store.commit).toBe(commit)
  expect(await logInByToken(set, 'east', usualToken(set, 'third'))).toBe(UNTRUSTED)
})

test('an issuer that replaces another one during its deletion can still be replaced', async () => {
  const set = await clusterSet(['east'], { memory: true })
  await acceptUsualTokens(set, ['east'])
  const { ports, ok } = set.at('east')
  expect(await logInByToken(set, 'east', usualToken(set, 'before'))).toBe('200')
  const { commit } = ports.store
  let raced = ''
  ports.store.commit = async (...of) => {
    ports.store.commit = commit
    raced = await logInByToken(set, 'east', otherToken(set))
    return commit(...of)
  }
  await ok('DELETE', issuerPath(ISSUER_ID))
  expect(raced).toBe('200')
  const accessor = (await ports.store.read([key('mounts')]))[0]?.data.mounts.find(
    ({ path }) => path === 'cloud',
  )?.accessor
  const [held] = await ports.store.read([key('account-issuer', accessor ?? '', ACCOUNT)])
  expect(held?.data.issuer).toBe(OTHER_ID)
})
