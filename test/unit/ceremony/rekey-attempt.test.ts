import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newRecoveryKey } from '../../../shared/cluster/recovery.ts'
import { accessorOfHash, tokenHashOf } from '../../../shared/model/token.ts'
import { putItem } from '../../../shared/storage/changes.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { token } from '../tokens/support.ts'
import { ceremonyWorld } from './support.ts'

const AT = '/sys/rekey-recovery-key'
const ROTATE = '/sys/rotate/recovery'
const asked = { secret_shares: 3, secret_threshold: 2 }

type World = Awaited<ReturnType<typeof ceremonyWorld>>

const start = (w: World, more: object = {}) => w.send('PUT', `${AT}/init`, { ...asked, ...more })
const give = (w: World, nonce: string, share: Buffer | string, path = 'update') =>
  w.send('PUT', `${AT}/${path}`, { nonce, key: share.toString('hex') })
const stored = (w: World) => w.stored.at(key('recovery-key')) as Item<'recovery-key'>

describe('the rate limit of rekeying', () => {
  test('ten starts a minute are allowed, and a taken slot is reported before an OpenPGP key is parsed', async () => {
    const w = await ceremonyWorld()
    for (let starts = 0; starts < 10; starts++) {
      expect((await start(w)).status).toBe(200)
      const taken = await start(w, { pgp_keys: ['x', 'y', 'z'] })
      expect([taken.status, taken.body.errors[0]]).toEqual([400, expect.stringMatching(/^rekey already/)])
      await w.send('DELETE', `${AT}/init`)
    }
    const late = await start(w, { pgp_keys: ['x', 'y', 'z'] })
    expect([late.status, Number(late.retryAfter)]).toEqual([429, expect.any(Number)])
  })
})

describe('strict ceremonies', () => {
  const strict = async () => {
    const rules = [ROTATE, AT].map(
      path => `path "${path.slice(1)}/*" { capabilities = ["read", "update", "delete", "sudo"] }`,
    )
    const text = rules.join('\n')
    const hash = tokenHashOf('hvs.keeper')
    const keeper = token({ hash, policies: ['keeper'], createdAt: 1_800_000_000_000 })
    const items = [
      { ...key('policy', 'keeper'), rev: 'r', data: { text } },
      { ...key('token', accessorOfHash(hash)), rev: 'r', data: keeper },
    ] as Item[]
    const w = await ceremonyWorld({ shares: 3, threshold: 2 }, { strictCeremony: true, items })
    const by = (text: string) => ({ gatewayId: 'g-1', headers: text ? { 'x-vault-token': text } : {} })
    return { w, by }
  }

  test('anonymous callers may only read the state', async () => {
    const { w, by } = await strict()
    const { nonce } = (await start(w)).body
    expect((await w.send('GET', `${AT}/init`, undefined, by(''))).body).toMatchObject({
      started: true,
      nonce,
    })
    expect((await w.send('PUT', `${AT}/init`, asked, by(''))).status).toBe(403)
    expect((await w.send('DELETE', `${AT}/init`, undefined, by(''))).status).toBe(403)
    expect((await w.send('DELETE', `${AT}/verify`, undefined, by(''))).status).toBe(403)
    expect((await w.send('GET', `${AT}/init`)).body).toMatchObject({ started: true, nonce })
  })

  test('a caller with a token rekeys by sys/rotate/recovery, and anyone may submit shares', async () => {
    const { w, by } = await strict()
    const holder = by('hvs.keeper')
    const { nonce } = (await w.send('POST', `${ROTATE}/init`, asked, holder)).body.data
    await w.send('PUT', `${ROTATE}/update`, { nonce, key: w.shares[0]?.toString('hex') }, holder)
    const given = { nonce, key: w.shares[1]?.toString('hex') }
    expect((await w.send('PUT', `${AT}/update`, given, by(''))).body).toMatchObject({ complete: true })
  })
})

test('a recovery key replaced by a concurrent request stays, because the attempt was for the previous one', async () => {
  const w = await ceremonyWorld({ shares: 3, threshold: 2 })
  const { nonce } = (await start(w)).body
  await give(w, nonce, w.shares[0] as Buffer)
  const { item } = newRecoveryKey({ shares: 3, threshold: 2 }, { random: randomBytes, now: 0 })
  const { commit } = w.ports.store
  let raced = false
  w.ports.store.commit = async (changes, as) => {
    if (!raced) {
      raced = true
      await commit([putItem(key('recovery-key'), item)], as)
    }
    return commit(changes, as)
  }
  const late = await give(w, nonce, w.shares[1] as Buffer)
  expect([late.status, late.body.errors[0]]).toEqual([400, expect.stringMatching(/^no rekey in progress/)])
  expect(stored(w).data).toEqual(item)
})
