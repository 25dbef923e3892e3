import { beforeEach, describe, expect, test } from 'vitest'
import { activeKeyringTerm, type KeyringKeys } from '../../../../shared/storage/keyring.ts'
import { itemPartitions } from '../../../../shared/storage/kinds.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { fenceByThief, promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { forgedToken, keysOf } from '../../../support/set/thief.ts'

// A thief has west's tables and may use its KMS key. Tests what the thief can do, before and after the
// revocation.

const R = '/sys/replication/dr'

let from: Warm | undefined
let set: ClusterSet
let stolen: KeyringKeys

beforeEach(async () => {
  from ??= await warmSnapshot({ memory: true, names: ['east', 'west'] })
  set = await clusterSet(['east', 'west'], { from, memory: true })
  stolen = await keysOf(set.at('west'))
})

const forged = (keys: KeyringKeys, policies: readonly string[], sign: 'own' | 'none' = 'own'): string =>
  forgedToken(keys, policies, { now: set.clock.now(), sign })

const isGood = async (token: string, name = 'east'): Promise<boolean> =>
  (await set.at(name).request('GET', '/auth/token/lookup-self', undefined, { token })).status === 200
const revoke = (more: object = {}) =>
  set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west', ...more })
const honest = async (name = 'east'): Promise<string> =>
  (await set.at(name).ok('POST', '/auth/token/create', { type: 'batch', policies: ['default'], ttl: '4h' }))
    .body.auth.client_token

describe('batch tokens made by a stolen secondary', () => {
  test('are invalid everywhere, whatever policy and signature, before the revocation and after', async () => {
    const forgeries = [['root'], ['default'], ['default', 'root']].flatMap(policies => [
      forged(stolen, policies),
      forged(stolen, policies, 'none'),
    ])
    for (const token of forgeries) expect(await isGood(token)).toBe(false)
    await revoke()
    for (const token of forgeries) expect(await isGood(token)).toBe(false)
    expect(await isGood(await honest())).toBe(true)
  })

  test('need a signer, which a secondary never gets with the keyring', async () => {
    expect((await keysOf(set.at('east'))).signer).toBeDefined()
    expect(stolen.signer).toBeUndefined()
    await set.at('east').ok('POST', '/sys/rotate')
    await set.converge()
    expect((await keysOf(set.at('west'))).signer).toBeUndefined()
  })
})

describe('a stolen former primary', () => {
  beforeEach(async () => {
    // west was primary, so it has a signer
    const doing = promotions(set)
    await doing.giveToken('west')
    expect((await doing.promote('west')).status).toBe(200)
    await set.settled()
    stolen = await keysOf(set.at('west'))
    await doing.follow('east', 'west', 'east')
    await set.converge()
    await doing.giveToken('east')
    expect((await doing.promote('east')).status).toBe(200)
    await set.settled()
  })

  test('is listed once among the term’s signers, also after it became primary again', async () => {
    const [term] = await set.at('east').ports.store.list(itemPartitions('term'))
    const clusters = (term?.data.signers ?? []).map(({ cluster }) => cluster)
    const ids = await Promise.all(['east', 'west'].map(async name => (await set.at(name).record()).id))
    expect(clusters.toSorted()).toEqual(ids.toSorted())
  })

  test('can make tokens of any policy except root until its terms are retired', async () => {
    expect([await isGood(forged(stolen, ['default'])), await isGood(forged(stolen, ['root']))]).toEqual([
      true,
      false,
    ])
    const [mine, rotated] = [await honest(), await set.at('east').ok('POST', '/sys/rotate')]
    expect(rotated.status).toBe(204)
    expect(await isGood(forged(stolen, ['default'])), 'a rotation alone ends nothing').toBe(true)
    const { status, body } = await set.at('east').ok('POST', '/sys/rotate', { retire: true })
    expect([status, String(body.warnings)]).toEqual([200, expect.stringContaining('have ended')])
    expect([await isGood(forged(stolen, ['default'])), await isGood(mine)]).toEqual([false, false])
    expect(await isGood(await honest())).toBe(true)
  })
})

describe('a former primary that is stolen before a token admits it', () => {
  let doing: ReturnType<typeof promotions>
  let id: string
  beforeEach(async () => {
    doing = promotions(set)
    await doing.giveToken('west')
    expect((await doing.promote('west')).status).toBe(200)
    await set.settled()
    id = (await set.at('east').record()).id
  })

  const givenAtWest = async () => {
    const { body } = await set.at('west').ok('GET', `${R}/status`, undefined, { token: '' })
    return body.data.terms[0].given_to.find((one: { cluster_id: string }) => one.cluster_id === id)
  }

  test('is listed by its own name; a misspelt name revokes nothing, and the stolen cluster can fence the honest cluster', async () => {
    expect(await givenAtWest()).toEqual({ cluster_id: id, name: 'east', revoked: false })
    for (const wrong of ['eats', 'EAST', id.replace(/^./, digit => (digit === '0' ? '1' : '0'))]) {
      const { status, text } = await set
        .at('west')
        .request('POST', `${R}/primary/revoke-secondary`, { id: wrong, retire: true })
      expect([status, text]).toEqual([400, expect.stringContaining(`these clusters hold keys: east (${id})`)])
    }
    const { body } = await set.at('west').ok('GET', '/sys/key-status')
    expect(body.data.term, 'nothing was retired').toBe(1)
    await fenceByThief(set, 'east')
    expect(await doing.health('west')).toBe(472)
  })

  test.each([
    ['its id', (own: string) => own],
    ['its id in capitals', (own: string) => own.toUpperCase()],
    ['its own name', () => 'east'],
  ])('is revoked by %s, and cannot fence the honest cluster afterwards', async (_, named) => {
    const given = { id: named(id), retire: true }
    await set.at('west').ok('POST', `${R}/primary/revoke-secondary`, given)
    expect(await givenAtWest()).toEqual({ cluster_id: id, name: 'east', revoked: true })
    await fenceByThief(set, 'east')
    expect(await doing.health('west')).toBe(200)
    const { body } = await set.at('west').ok('POST', `${R}/primary/revoke-secondary`, given)
    expect(String(body.warnings)).toMatch(/was already revoked at \d{4}-/)
    await doing.write('west', 'after')
    expect(await doing.policies('west')).toContain('after')
  })
})

describe('a revocation', () => {
  test('without retire warns of the keys that the revoked cluster keeps, and names the command that ends their use', async () => {
    const { status, body } = await revoke()
    expect([status, String(body.warnings)]).toEqual([200, expect.stringMatching(/keeps.*retire=true/)])
  })

  test('with retire ends all earlier batch tokens, and the revoked cluster never gets the new term', async () => {
    const before = await honest()
    const { body } = await revoke({ retire: true })
    expect(String(body.warnings)).toMatch(/have ended/)
    expect([await isGood(before), await isGood(await honest())]).toEqual([false, true])
    for (let rounds = 0; rounds < 3; rounds++) {
      set.pass(60_000)
      await set
        .at('west')
        .pull()
        .catch(() => undefined)
    }
    const newest = activeKeyringTerm(await keysOf(set.at('east')))
    expect((await keysOf(set.at('west'))).terms.map(one => one.key)).not.toContain(newest.key)
  })

  test('repeated with retire still retires the terms', async () => {
    await revoke()
    const before = await honest()
    await revoke({ retire: true })
    expect(await isGood(before)).toBe(false)
  })

  test('with retire takes effect on each secondary that has applied the retirement', async () => {
    const token = await honest()
    await set.at('east').ok('POST', '/sys/rotate', { retire: true })
    await set.converge()
    const terms = await set.at('west').ports.store.list(itemPartitions('term'))
    expect(terms.map(({ data }) => [data.number, data.tokensUntil !== undefined]).toSorted()).toEqual([
      [1, true],
      [2, false],
    ])
    const reply = await set
      .at('west')
      .request('POST', `${R}/secondary/promote`, { dr_operation_token: token })
    expect(reply.status).toBe(403)
  })
})
