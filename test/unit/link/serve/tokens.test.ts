import { beforeEach, describe, expect, test } from 'vitest'
import {
  generateSignerKey,
  makeActivationJwt,
  openActivationToken,
  parseSignerKey,
  readActivationClaims,
} from '../../../../shared/link/activation-token.ts'
import { formatLinkPublicKeys } from '../../../../shared/link/pair.ts'
import { LinkRefused } from '../../../../shared/link/source.ts'
import { putItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { withOneBitChanged } from '../../../builders/link.ts'
import { ADDRESS, follower, primaryWorld, type World } from './world.ts'

// Tests when an activation token is valid, in both of its forms: a wrapped token, which anybody can use, and
// a token sealed to the public key of one secondary.

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

const forms = ['wrapped', 'public-key'] as const
type Form = (typeof forms)[number]

/** Makes a follower, and a token of the given form for the follower, as the follower reads it. */
async function given(form: Form, name = 'west') {
  const one = follower(w, name)
  if (form === 'wrapped') return { one, token: await w.token(name) }
  const sealed = await w.token(name, { publicKey: formatLinkPublicKeys(one.keys) })
  expect(readActivationClaims(sealed)).toBeUndefined()
  return { one, token: openActivationToken(one.pair.exchange, sealed) ?? '' }
}

/** All items in the primary's tables. */
const everything = () => JSON.stringify(w.stored.all())

/** Expects that an attempt is refused with a given text, and that the primary's tables are unchanged. */
async function refused(attempt: () => Promise<unknown>, words: string) {
  const before = everything()
  const error = await attempt().catch((one: unknown) => one)
  expect(error).toBeInstanceOf(LinkRefused)
  expect((error as Error).message).toContain(words)
  expect(everything()).toBe(before)
}

describe.each(forms)('an activation token in the %s form', form => {
  test('the token admits its secondary', async () => {
    const { one, token } = await given(form)
    const got = await one.activateBy(token)
    expect([got.set, one.opened(got.keyring)]).toEqual([w.set, 'the keys'])
    w.clock.ms += 1000
    expect((await one.heartbeat()).epoch).toBe(w.epoch)
  })

  test('the token is refused after its first use, for every cluster', async () => {
    const { one, token } = await given(form)
    await one.activateBy(token)
    w.clock.ms += 1000
    await one.heartbeat()
    w.clock.ms += 1000
    await refused(() => one.activateBy(token), 'the token has been used')
    await refused(() => follower(w, 'west').activateBy(token), 'the token has been used')
  })

  test('the token is refused after its expiry', async () => {
    const { one, token } = await given(form)
    w.clock.ms += 1_800_000
    await refused(() => one.activateBy(token), 'the token expired at 2027-01-15T08:30:00Z')
  })

  test("the token admits a cluster until the token's expiry", async () => {
    const { one, token } = await given(form)
    w.clock.ms += 1_799_999
    expect((await one.activateBy(token)).set).toBe(w.set)
  })

  test('the token is refused after its revocation, also if another token was made for the name', async () => {
    const { one, token } = await given(form)
    await w.revoke('west')
    await refused(() => one.activateBy(token), 'the token was revoked')
    w.clock.ms += 1000
    await w.token('west')
    await refused(() => one.activateBy(token), 'the token was revoked')
  })

  test('the token is refused for a cluster that was revoked after the token was made', async () => {
    const { one, token } = await given(form)
    const { token: other } = await given('wrapped', 'first')
    await one.source.activate({ ...one.request, token: other })
    w.clock.ms += 1000
    await w.revoke(one.cluster)
    w.clock.ms += 1000
    await refused(() => one.activateBy(token), 'before the calling cluster was revoked')
  })

  test('the token admits a cluster that an earlier primary revoked, even if that primary’s clock was ahead', async () => {
    const { one, token } = await given(form)
    const revoked = { at: w.clock.ms + 200_000, epoch: '000000.aaaaaaaaaaaa' }
    await w.store.commit([putItem(key('holder', one.cluster), { name: 'west', at: 1, revoked })])
    await one.activateBy(token)
    const [holder] = await w.store.read([key('holder', one.cluster)])
    expect(holder?.data).toEqual({ name: 'west', at: w.clock.ms })
  })

  test('a token with a changed signature or content is refused', async () => {
    const { one, token } = await given(form)
    const [header = '', claims = '', signature = ''] = token.split('.')
    const some = withOneBitChanged(Buffer.from(signature, 'base64url')).filter((_, index) => index % 10 === 0)
    for (const bytes of some) {
      const forged = [header, claims, bytes.toString('base64url')].join('.')
      await refused(() => one.activateBy(forged), 'the token was not made by this cluster')
    }
    const longer = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), exp: 9_999_999_999 }
    const changed = [header, Buffer.from(JSON.stringify(longer)).toString('base64url'), signature].join('.')
    await refused(() => one.activateBy(changed), 'the token was not made by this cluster')
  })

  test('a token with the right content is refused if another key has signed the token', async () => {
    const { one, token } = await given(form)
    const claims = readActivationClaims(token)
    if (!claims) throw new Error('no token')
    const forged = makeActivationJwt(parseSignerKey(generateSignerKey()), claims)
    await refused(() => one.activateBy(forged), 'the token was not made by this cluster')
  })

  test('primary and secondary refuse a token of another set', async () => {
    const { one } = await given(form)
    const other = await primaryWorld()
    const foreign = await other.token('west')
    const { set, primaryKey } = readActivationClaims(foreign) ?? { set: '', primaryKey: '' }
    // The token names the other primary, whose key this primary does not have, so the token's address is not
    // trusted.
    await expect(one.activateBy(foreign)).rejects.toThrow('belongs to another DR set')
    expect([set === w.set, primaryKey === w.keys.signing.toString('base64url')]).toEqual([false, false])
    await refused(() => one.activate(foreign), 'not encrypted to the key of this cluster, for this DR set')
  })

  test('a token sent under another name changes nothing about that name', async () => {
    const { token } = await given(form)
    await w.token('north')
    const north = follower(w, 'north')
    if (form === 'public-key') return refused(() => north.activate(token), 'other keys than those')
    await north.activate(token)
    expect((await w.secondary('north'))?.activatedAt).toBeUndefined()
    expect((await w.secondary('west'))?.cluster).toBe(north.cluster)
  })
})

test('a token for a public key is readable and usable only by that secondary', async () => {
  const { one, token } = await given('public-key')
  await refused(
    () => follower(w, 'west').activateBy(token),
    'made for other keys than those of this secondary',
  )
  expect((await one.activateBy(token)).addresses).toEqual([ADDRESS])
})

test.each(['', 'x', 'a.b.c'])('%j is refused as an activation token', async token => {
  await refused(() => follower(w, 'west').activate(token), 'not an activation token')
})
