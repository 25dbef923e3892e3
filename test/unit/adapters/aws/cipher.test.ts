import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createKmsCipher } from '../../../../shared/adapters/aws/cipher.ts'
import { createKmsKeyFactory } from '../../../../shared/adapters/aws/key-factory.ts'
import type { Keyring, MadeKeyring } from '../../../../shared/model/cluster.ts'
import { GCM_NONCE_LENGTH } from '../../../../shared/storage/encryption.ts'
import { openKeyringEnvelope, sealKeyringEnvelope } from '../../../../shared/storage/keyring.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { exportRawPublicKey, privateKeyFromSeed } from '../../../../shared/values/raw-keys.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'

const place = key('role', 'auth_1', 'dev')
const entropy = { bytes: randomBytes, uuid: randomUUID }

/** A KMS that wraps with base64 and counts its calls. */
function plainKms() {
  const asked = { unwrap: 0, newDataKey: 0, slowly: Promise.resolve() }
  return {
    asked,
    kms: {
      unwrap: async ({ wrappedKey }: Pick<Keyring, 'wrappedKey'>) => {
        asked.unwrap++
        await asked.slowly
        return Buffer.from(wrappedKey, 'base64')
      },
      newDataKey: async () => {
        asked.newDataKey++
        const dataKey = randomBytes(32)
        return { dataKey, wrapped: dataKey.toString('base64') }
      },
    },
  }
}

/** Makes a stored keyring, environments that use the keyring, and a function that rotates it. */
async function world() {
  const { kms, asked } = plainKms()
  const keyFactory = createKmsKeyFactory({ keyArn: 'arn', entropy, kms })
  let keyring: Keyring = { ...(await keyFactory.newKeyring(1000)).keyring, edition: 1 }
  const reads = { count: 0 }
  const store = {
    read: async () => {
      reads.count++
      return [{ ...key('keyring'), rev: 'r', data: keyring }] as never
    },
  }
  const clock = { ms: 1_000_000, now: () => clock.ms }
  const record = () => ({ keyring: keyring.id, keyringEdition: keyring.edition })
  return {
    asked,
    reads,
    clock,
    record,
    environment: () => createKmsCipher({ store, clock, entropy, kms }),
    item: () => ({ ...key('keyring'), rev: 'r', data: keyring }),
    /** replaces the key under the same number and name, as after a wipe and a return to the set */
    replaced: async () => {
      const { keyring: other } = await keyFactory.newKeyring(3000)
      const { dataKey, wrapped } = await kms.newDataKey()
      const keys = openKeyringEnvelope(Buffer.from(other.wrappedKey, 'base64'), other.id, other.keys)
      const closed = sealKeyringEnvelope(dataKey, keyring.id, keys, randomBytes(GCM_NONCE_LENGTH))
      keyring = {
        ...other,
        id: keyring.id,
        wrappedKey: wrapped,
        keys: closed,
        edition: keyring.edition + 1,
      }
    },
    rotate: async () => {
      const made = await keyFactory.addNextTerm(keyring, 2000)
      keyring = { ...made.keyring, edition: keyring.edition + 1 }
      return keyring
    },
  }
}

let w: Awaited<ReturnType<typeof world>>
beforeEach(async () => {
  w = await world()
})
const termOf = (encrypted: string) => Number(encrypted.split('.')[0])

describe('a cipher after the keyring got a new term', () => {
  test('the cipher encrypts items and batch tokens with the new term once the environment has seen the cluster record', async () => {
    const [one, two] = [w.environment(), w.environment()]
    for (const each of [one, two]) expect(termOf(await each.encrypt(place, 'hmacKey', 'x'))).toBe(1)
    await w.rotate()
    for (const each of [one, two]) {
      each.expectKeyring(w.record())
      expect(termOf(await each.encrypt(place, 'hmacKey', 'x'))).toBe(2)
      expect(termOf(await each.encryptToken('{}'))).toBe(2)
    }
  })

  test('the cipher decrypts texts of every term with one call to KMS', async () => {
    const encrypted: EncryptedText[] = []
    const tokens: string[] = []
    for (let term = 1; term <= 5; term++) {
      const cipher = w.environment()
      encrypted.push(await cipher.encrypt(place, 'hmacKey', `item ${term}`))
      tokens.push(await cipher.encryptToken(`token ${term}`))
      await w.rotate()
    }
    const before = w.asked.unwrap
    const fresh = w.environment()
    for (const [index, text] of encrypted.entries())
      expect((await fresh.decrypt(place, 'hmacKey', text)).reveal()).toBe(`item ${index + 1}`)
    for (const [index, text] of tokens.entries())
      expect((await fresh.decryptToken(text))?.content).toBe(`token ${index + 1}`)
    expect(w.asked.unwrap - before).toBe(1)
  })

  test('the cipher returns the same HMACs as before the rotation', async () => {
    const before = await w.environment().hmac('a value')
    await w.rotate()
    await w.rotate()
    expect(await w.environment().hmac('a value')).toBe(before)
  })

  test('the rotation makes a new data key, and stores when the term was added', async () => {
    const first = w.record()
    const next = await w.rotate()
    expect(next).toMatchObject({ id: first.keyring, term: 2, since: 2000 })
    expect(w.asked.newDataKey).toBe(2)
  })
})

describe('a keyring that was read together with the cluster record', () => {
  test('only the first request of an environment requests the keyring', async () => {
    const cipher = w.environment()
    expect(cipher.keysToRead()).toEqual([key('keyring')])
    expect(cipher.keysToRead()).toEqual([])
    cipher.expectKeyring(w.record(), w.item())
    expect(termOf(await cipher.encrypt(place, 'hmacKey', 'x'))).toBe(1)
    expect(w.reads.count).toBe(0)
  })

  test('no request asks for the keyring if the environment has a keyring', async () => {
    const cipher = w.environment()
    await cipher.hmac('x')
    expect(cipher.keysToRead()).toEqual([])
  })

  test.each([0, 60_000])(
    'the keyring is read again if the cluster record is newer, %i ms later',
    async ms => {
      const cipher = w.environment()
      const old = w.item()
      cipher.expectKeyring(w.record(), old)
      await w.rotate()
      w.clock.ms += ms
      if (ms === 0) cipher.expectKeyring(w.record(), old)
      else cipher.expectKeyring(w.record())
      expect(termOf(await cipher.encrypt(place, 'hmacKey', 'x'))).toBe(2)
      expect(w.reads.count).toBe(1)
    },
  )

  test('KMS decrypts the keyring when it is needed; after a KMS failure the keyring is read again', async () => {
    const cipher = w.environment()
    cipher.expectKeyring(w.record(), w.item())
    expect(w.asked.unwrap).toBe(0)
    w.asked.slowly = Promise.reject(new Error('KMS is away'))
    await expect(cipher.hmac('x')).rejects.toThrow('KMS is away')
    w.asked.slowly = Promise.resolve()
    expect(await cipher.hmac('x')).toBe(await w.environment().hmac('x'))
  })
})

describe('an environment that meets an unknown term', () => {
  test('the cipher reads the keyring again, once for concurrent requests', async () => {
    const old = w.environment()
    await old.encrypt(place, 'hmacKey', 'x')
    await w.rotate()
    const encrypted = await w.environment().encrypt(place, 'hmacKey', 'new')
    const before = w.reads.count
    const texts = await Promise.all(Array.from({ length: 8 }, () => old.decrypt(place, 'hmacKey', encrypted)))
    expect(texts.map(text => text.reveal())).toEqual(Array(8).fill('new'))
    expect(w.reads.count - before).toBe(1)
    expect(termOf(await old.encrypt(place, 'hmacKey', 'x'))).toBe(2)
  })

  test('the cipher fails to decrypt if the keyring that was read again lacks the term', async () => {
    const cipher = w.environment()
    const encrypted = (await cipher.encrypt(place, 'hmacKey', 'x')).replace('1.', '9.') as EncryptedText
    const before = w.reads.count
    await expect(cipher.decrypt(place, 'hmacKey', encrypted)).rejects.toThrow('cannot be decrypted')
    expect(w.reads.count - before).toBe(1)
  })

  test('the cipher decrypts a batch token of the new term', async () => {
    const old = w.environment()
    await old.encryptToken('{}')
    await w.rotate()
    const token = await w.environment().encryptToken('new')
    w.clock.ms += 1000
    expect((await old.decryptToken(token))?.content).toBe('new')
  })

  test('the cipher does not call KMS for made-up term numbers in tokens', async () => {
    const cipher = w.environment()
    const token = await cipher.encryptToken('{}')
    w.clock.ms += 1000
    const before = w.reads.count
    for (let term = 0; term < 200; term++)
      expect(await cipher.decryptToken(token.replace('1.', `${term === 1 ? 'x' : term}.`))).toBeUndefined()
    expect(w.reads.count - before).toBe(1)
  })
})

describe('the cluster record', () => {
  test('a record with the same keyring causes no read of the keyring; a record with another keyring causes one', async () => {
    const cipher = w.environment()
    await cipher.encrypt(place, 'hmacKey', 'x')
    const before = w.reads.count
    cipher.expectKeyring(w.record())
    await cipher.encrypt(place, 'hmacKey', 'x')
    expect(w.reads.count).toBe(before)
    cipher.expectKeyring({ keyring: 'another', keyringEdition: 1 })
    await cipher.encrypt(place, 'hmacKey', 'x')
    expect(w.reads.count).toBe(before + 1)
  })

  test('a record that arrives during a read of the keyring causes another read', async () => {
    const cipher = w.environment()
    const { promise, resolve } = Promise.withResolvers<void>()
    w.asked.slowly = promise
    const early = cipher.hmac('x')
    await new Promise(setImmediate)
    w.asked.slowly = Promise.resolve()
    await w.rotate()
    const token = await w.environment().encryptToken('new')
    w.clock.ms += 10
    cipher.expectKeyring(w.record())
    const before = w.reads.count
    const both = Promise.all([cipher.decryptToken(token), cipher.encrypt(place, 'hmacKey', 'x')])
    resolve()
    const [opened, encrypted] = await both
    expect([opened?.content, termOf(encrypted)]).toEqual(['new', 2])
    expect(w.reads.count - before).toBe(1)
    await early
  })

  test('a record with a later edition causes a read of the keyring, because the key of an equal term may differ', async () => {
    const cipher = w.environment()
    const before = await cipher.encrypt(place, 'hmacKey', 'of the former life')
    await w.replaced()
    cipher.expectKeyring(w.record())
    const after = await cipher.encrypt(place, 'hmacKey', 'x')
    expect([termOf(before), termOf(after)]).toEqual([1, 1])
    const fresh = w.environment()
    expect((await fresh.decrypt(place, 'hmacKey', after)).reveal()).toBe('x')
    await expect(fresh.decrypt(place, 'hmacKey', before)).rejects.toThrow('cannot be decrypted')
  })

  test('a record older than the keyring changes nothing', async () => {
    const old = w.record()
    await w.rotate()
    const cipher = w.environment()
    await cipher.encrypt(place, 'hmacKey', 'x')
    const before = w.reads.count
    cipher.expectKeyring(old)
    expect(termOf(await cipher.encrypt(place, 'hmacKey', 'x'))).toBe(2)
    expect(w.reads.count).toBe(before)
  })
})

describe('a term that the set has lost', () => {
  test('a lost term that is read-only decrypts fields but no batch tokens', async () => {
    const { kms } = plainKms()
    const keyFactory = createKmsKeyFactory({ keyArn: 'arn', entropy, kms })
    const [leading, other] = [await keyFactory.newKeyring(1000), await keyFactory.newKeyring(2000)]
    const holding = (data: MadeKeyring) =>
      createKmsCipher({
        store: { read: async () => [{ ...key('keyring'), rev: 'r', data }] as never },
        clock: { now: () => 1_000_000 },
        entropy,
        kms,
      })
    const alone = holding(other.keyring)
    const [field, token] = [await alone.encrypt(place, 'hmacKey', 'x'), await alone.encryptToken('content')]
    const opens = async (lost: boolean) => {
      const both = holding((await keyFactory.unite(leading.keyring, other.keyring, 3000, lost)).keyring)
      const text = (await both.decrypt(place, 'hmacKey', field as EncryptedText)).reveal()
      return [text, (await both.decryptToken(token))?.content]
    }
    expect(await opens(false)).toEqual(['x', 'content'])
    expect(await opens(true)).toEqual(['x', undefined])
  })
})

describe('an exported keyring', () => {
  const own = privateKeyFromSeed('X25519', randomBytes(32))
  const set = 'a set'

  test('the exported keyring decrypts fields of every term on the importing cluster, under that cluster’s own KMS key', async () => {
    const old = await w.environment().encrypt(place, 'hmacKey', 'of term 1')
    await w.rotate()
    const exported = await w.environment().exportTo(exportRawPublicKey(own), set)
    expect(exported.term).toBe(2)
    const there = plainKms()
    const keyFactory = createKmsKeyFactory({ keyArn: 'another', entropy, kms: there.kms })
    const { keyring, cipher } = await keyFactory.importFrom(exported.keyring, own, set, 3000)
    expect(keyring).toMatchObject({ id: w.record().keyring, term: 2, since: 3000 })
    expect(there.asked.newDataKey).toBe(1)
    const store = { read: async () => [{ ...key('keyring'), rev: 'r', data: keyring }] as never }
    const other = createKmsCipher({ store, clock: w.clock, entropy, kms: there.kms })
    expect((await other.decrypt(place, 'hmacKey', old)).reveal()).toBe('of term 1')
    const here = w.environment()
    for (const each of [cipher, other]) {
      const encrypted = await each.encrypt(place, 'hmacKey', 'from there')
      expect((await here.decrypt(place, 'hmacKey', encrypted)).reveal()).toBe('from there')
    }
    expect(await other.hmac('x')).toBe(await here.hmac('x'))
  })

  test('the cipher exports the newest keyring, even if the environment holds an older one', async () => {
    const environment = w.environment()
    await environment.encrypt(place, 'hmacKey', 'x')
    await w.rotate()
    expect((await environment.exportTo(exportRawPublicKey(own), set)).term).toBe(2)
  })

  test('the exported keyring cannot be decrypted with another private key or for another set', async () => {
    const { keyring } = await w.environment().exportTo(exportRawPublicKey(own), set)
    const keyFactory = createKmsKeyFactory({ keyArn: 'another', entropy, kms: plainKms().kms })
    const other = privateKeyFromSeed('X25519', randomBytes(32))
    await expect(keyFactory.importFrom(keyring, other, set, 0)).rejects.toThrow(
      'not encrypted for this cluster’s key',
    )
    await expect(keyFactory.importFrom(keyring, own, 'another', 0)).rejects.toThrow(
      'not encrypted for this cluster’s key',
    )
  })
})
