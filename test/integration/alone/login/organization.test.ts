import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { createItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { rsaKey, signToken, usualClaims } from '../../../builders/web-token.ts'
import { acceptUsualTokens } from '../../../support/set/jwt-logins.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// One mount with the 10,000 accounts of an organization. 1,000 accounts log in that nobody configured; the others
// have logged in before.

const ACCOUNTS = 10_000
const NEW = 1000
/** Logins of new accounts in a minute: an environment fetches 60 key sets, and 10 for an address. */
const A_MINUTE = 60
const AN_ADDRESS = 10
const AWS = 'https://sts.amazonaws.com/'

interface Account {
  id: string
  issuer: string
  address: string
}
const accountNumber = (number: number): Account => ({
  id: String(100_000_000_000 + number),
  issuer: randomUUID(),
  address: `198.51.100.${Math.floor((number % A_MINUTE) / AN_ADDRESS)}`,
})

let set: ClusterSet
const all = Array.from({ length: ACCOUNTS }, (_, number) => accountNumber(number))
const fresh = all.slice(0, NEW)
let fetches: string[]

beforeAll(async () => {
  set = await clusterSet(['east'], { memory: true })
  fetches = await acceptUsualTokens(set, ['east'])
  await storeKnown(all.slice(NEW))
}, 600_000)

/** Stores the issuers of accounts that have logged in before. */
async function storeKnown(accounts: readonly Account[]): Promise<void> {
  const { ports, record } = set.at('east')
  const [mounts] = await ports.store.read([key('mounts')])
  const accessor = mounts?.data.mounts.find(({ path }) => path === 'cloud')?.accessor ?? ''
  const now = ports.clock.now()
  const known = {
    partition: 'aws',
    learnt: true,
    blocked: false,
    keys: [rsaKey],
    fetchedAt: now,
    changedAt: now,
  } as const
  const as = { record: await record(), readAt: now }
  for (let first = 0; first < accounts.length; first += 25) {
    const changes = accounts
      .slice(first, first + 25)
      .flatMap(({ id, issuer }) => [
        createItem(key('issuer', accessor, issuer), { ...known, account: id }),
        createItem(key('account-issuer', accessor, id), { issuer }),
      ])
    expect(await ports.store.commit(changes, as)).toBe('done')
  }
}

async function logIn({ id, issuer, address }: Account, organization = usualClaims[AWS].org_id) {
  const iat = Math.floor(set.clock.now() / 1000)
  const sub = `arn:aws:iam::${id}:role/app`
  const jwt = signToken({
    ...usualClaims,
    iss: `https://${issuer}.tokens.sts.global.api.aws`,
    sub,
    iat,
    exp: iat + 300,
    jti: randomUUID(),
    [AWS]: { aws_account: id, principal_id: sub, org_id: organization },
  })
  const { status, body } = await set
    .at('east')
    .request('POST', '/auth/cloud/login', { jwt }, { token: '', from: address })
  return { text: [status, ...(body.errors ?? [])].join(' '), token: String(body.auth?.client_token) }
}

const renew = async (token: string): Promise<number> =>
  (await set.at('east').request('POST', '/auth/token/renew-self', {}, { token })).status

const UNTRUSTED = '400 the issuer of the token is not trusted here'

test('1,000 accounts log in that nobody configured, and each causes one fetch', async () => {
  const before = fetches.length
  const texts = new Map<string, number>()
  for (const [index, account] of fresh.entries()) {
    if (index % A_MINUTE === 0) set.pass(60_000)
    const { text } = await logIn(account)
    texts.set(text, (texts.get(text) ?? 0) + 1)
  }
  expect([...texts]).toEqual([['200', NEW]])
  expect(fetches.length - before).toBe(NEW)
})

test('accounts that have logged in before cause no fetch', async () => {
  const before = fetches.length
  for (const account of [...fresh.slice(0, 50), ...all.slice(-50)])
    expect((await logIn(account)).text).toBe('200')
  expect(fetches.length).toBe(before)
})

test('an account that left the organization is refused with its next token', async () => {
  const [leaves] = all.slice(-1)
  if (!leaves) return
  expect((await logIn(leaves)).text).toBe('200')
  expect((await logIn(leaves, 'o-elsewhere00')).text).toBe(UNTRUSTED)
})

test('a blocked account can neither log in nor renew, and its neighbours can', async () => {
  const [blocked, neighbour] = all.slice(-3, -1)
  if (!blocked || !neighbour) return
  const [first, second] = [await logIn(blocked), await logIn(neighbour)]
  expect([first.text, second.text]).toEqual(['200', '200'])
  await set.at('east').ok('POST', '/auth/cloud/config/jwt', { blocked_accounts: blocked.id })
  expect((await logIn(blocked)).text).toBe(UNTRUSTED)
  expect([await renew(first.token), await renew(second.token)]).toEqual([403, 200])
  expect((await logIn(neighbour)).text).toBe('200')
})

test('10,000 issuers take less than 20 MB in the table', async () => {
  const [east] = (await set.snapshot()).members
  const items = Object.values(east?.items ?? {}).flat()
  const bytesOf = (kind: string) =>
    items.filter(item => item['kind']?.['S'] === kind).map(item => JSON.stringify(item).length)
  const [issuers, accounts] = [bytesOf('issuer'), bytesOf('account-issuer')]
  const sum = [...issuers, ...accounts].reduce((all, one) => all + one, 0)
  process.stdout.write(
    `${issuers.length} issuers with their accounts: ${(sum / 1e6).toFixed(1)} MB as JSON\n`,
  )
  expect([issuers.length, accounts.length]).toEqual([ACCOUNTS, ACCOUNTS])
  expect(sum).toBeLessThan(20e6)
})
