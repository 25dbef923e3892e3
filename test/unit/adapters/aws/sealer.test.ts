import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { kmsGenesis, kmsSealer } from '../../../../shared/adapters/aws/sealer.ts'
import type { Keyring } from '../../../../shared/model/cluster.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { Sealed } from '../../../../shared/values/secret.ts'

const place = key('role', 'auth_1', 'dev')
const entropy = { bytes: randomBytes, uuid: randomUUID }

/** A KMS that wraps with base64 and counts what it is asked. */
function plainKms() {
  const asked = { unwrap: 0, newDataKey: 0, slowly: Promise.resolve() }
  return {
    asked,
    kms: {
      unwrap: async ({ wrapped }: Pick<Keyring, 'wrapped'>) => {
        asked.unwrap++
        await asked.slowly
        return Buffer.from(wrapped, 'base64')
      },
      newDataKey: async () => {
        asked.newDataKey++
        const dataKey = randomBytes(32)
        return { dataKey, wrapped: dataKey.toString('base64') }
      },
    },
  }
}

/** A stored keyring, whatever environments work with it, and a way to rotate it. */
async function world() {
  const { kms, asked } = plainKms()
  const genesis = kmsGenesis({ keyArn: 'arn', entropy, kms })
  let { keyring } = await genesis.newKeyring(1000)
  const reads = { count: 0 }
  const store = {
    read: async () => {
      reads.count++
      return [{ ...key('keyring'), rev: 'r', data: keyring }] as never
    },
  }
  const clock = { ms: 1_000_000, now: () => clock.ms }
  const record = () => ({ keyring: keyring.id, term: keyring.term })
  return {
    asked,
    reads,
    clock,
    record,
    environment: () => kmsSealer({ store, clock, entropy, kms }),
    rotate: async () => {
      keyring = await genesis.withNextTerm(keyring, 2000)
      return keyring
    },
  }
}

let w: Awaited<ReturnType<typeof world>>
beforeEach(async () => {
  w = await world()
})
const termOf = (sealed: string) => Number(sealed.split('.')[0])

describe('a rotated keyring', () => {
  test('seals items and batch tokens by its new term, in every environment that has seen the cluster record', async () => {
    const [one, two] = [w.environment(), w.environment()]
    for (const each of [one, two]) expect(termOf(await each.seal(place, 'hmacKey', 'x'))).toBe(1)
    await w.rotate()
    for (const each of [one, two]) {
      each.expect(w.record())
      expect(termOf(await each.seal(place, 'hmacKey', 'x'))).toBe(2)
      expect(termOf(await each.sealToken('{}'))).toBe(2)
    }
  })

  test('opens what every term sealed, with one call to KMS however many terms there are', async () => {
    const sealed: Sealed[] = []
    const tokens: string[] = []
    for (let term = 1; term <= 5; term++) {
      const sealer = w.environment()
      sealed.push(await sealer.seal(place, 'hmacKey', `item ${term}`))
      tokens.push(await sealer.sealToken(`token ${term}`))
      await w.rotate()
    }
    const before = w.asked.unwrap
    const fresh = w.environment()
    for (const [index, text] of sealed.entries())
      expect((await fresh.open(place, 'hmacKey', text)).reveal()).toBe(`item ${index + 1}`)
    for (const [index, text] of tokens.entries())
      expect(await fresh.openToken(text)).toBe(`token ${index + 1}`)
    expect(w.asked.unwrap - before).toBe(1)
  })

  test('gives the same HMACs as before: accessors and the audit log stay comparable', async () => {
    const before = await w.environment().hmac('a value')
    await w.rotate()
    await w.rotate()
    expect(await w.environment().hmac('a value')).toBe(before)
  })

  test('is under another data key, and says how new its term is', async () => {
    const first = w.record()
    const next = await w.rotate()
    expect(next).toMatchObject({ id: first.keyring, term: 2, since: 2000 })
    expect(w.asked.newDataKey).toBe(2)
  })
})

describe('an environment that does not know a term yet', () => {
  test('reads the keyring again, once for all that meet the term together', async () => {
    const old = w.environment()
    await old.seal(place, 'hmacKey', 'x')
    await w.rotate()
    const sealed = await w.environment().seal(place, 'hmacKey', 'new')
    const before = w.reads.count
    const texts = await Promise.all(Array.from({ length: 8 }, () => old.open(place, 'hmacKey', sealed)))
    expect(texts.map(text => text.reveal())).toEqual(Array(8).fill('new'))
    expect(w.reads.count - before).toBe(1)
    expect(termOf(await old.seal(place, 'hmacKey', 'x'))).toBe(2)
  })

  test('says that an item cannot be opened when the keyring, read again, does not have the term either', async () => {
    const sealer = w.environment()
    const sealed = (await sealer.seal(place, 'hmacKey', 'x')).replace('1.', '9.') as Sealed
    const before = w.reads.count
    await expect(sealer.open(place, 'hmacKey', sealed)).rejects.toThrow('cannot be opened')
    expect(w.reads.count - before).toBe(1)
  })

  test('opens a batch token of the new term', async () => {
    const old = w.environment()
    await old.sealToken('{}')
    await w.rotate()
    const token = await w.environment().sealToken('new')
    w.clock.ms += 1000
    expect(await old.openToken(token)).toBe('new')
  })

  test('is not driven to KMS by callers who write numbers of terms into tokens', async () => {
    const sealer = w.environment()
    const token = await sealer.sealToken('{}')
    w.clock.ms += 1000
    const before = w.reads.count
    for (let term = 0; term < 200; term++)
      expect(await sealer.openToken(token.replace('1.', `${term === 1 ? 'x' : term}.`))).toBeUndefined()
    expect(w.reads.count - before).toBe(1)
  })
})

describe('the cluster record', () => {
  test('of the same term makes nobody read again; of another keyring it does', async () => {
    const sealer = w.environment()
    await sealer.seal(place, 'hmacKey', 'x')
    const before = w.reads.count
    sealer.expect(w.record())
    await sealer.seal(place, 'hmacKey', 'x')
    expect(w.reads.count).toBe(before)
    sealer.expect({ keyring: 'another', term: 1 })
    await sealer.seal(place, 'hmacKey', 'x')
    expect(w.reads.count).toBe(before + 1)
  })

  test('counts for a keyring, too, that was on its way when the record was read', async () => {
    const sealer = w.environment()
    const { promise, resolve } = Promise.withResolvers<void>()
    w.asked.slowly = promise
    const early = sealer.hmac('x')
    await new Promise(setImmediate)
    w.asked.slowly = Promise.resolve()
    await w.rotate()
    const token = await w.environment().sealToken('new')
    w.clock.ms += 10
    sealer.expect(w.record())
    const before = w.reads.count
    const both = Promise.all([sealer.openToken(token), sealer.seal(place, 'hmacKey', 'x')])
    resolve()
    const [opened, sealed] = await both
    expect([opened, termOf(sealed)]).toEqual(['new', 2])
    expect(w.reads.count - before).toBe(1)
    await early
  })

  test('that is older than the keyring in hand changes nothing', async () => {
    const old = w.record()
    await w.rotate()
    const sealer = w.environment()
    await sealer.seal(place, 'hmacKey', 'x')
    const before = w.reads.count
    sealer.expect(old)
    expect(termOf(await sealer.seal(place, 'hmacKey', 'x'))).toBe(2)
    expect(w.reads.count).toBe(before)
  })
})
