import { randomBytes } from 'node:crypto'
import { encryptFor, fingerprintOf } from '../../shared/cluster/pgp.ts'
import {
  type Algorithm,
  algorithms,
  costlyKey,
  mostSignatures,
  nestedSignatures,
  rsaKey,
  signatureWith,
  withSignatures,
} from '../support/requests/costly-keys.ts'
import { hostileKey } from '../support/requests/pgp.ts'
import { ceremonyWorld } from '../unit/ceremony/support.ts'

const ROUNDS = 400
const WARM_UP = 50

/** Keys of each kind, one after the other, without rounds to warm up. */
const COSTLY = 10

/** The first keys that are computed with wait for the library to be loaded, which is no key's cost. */
async function loadLibrary(): Promise<void> {
  const key = await costlyKey('Ed25519')
  await encryptFor(Buffer.from(key.write()).toString('base64'), 'x', 'key')
}

/** Keys that cost as much as they may, accepted and refused. */
async function costlyKeys(): Promise<{ name: string; key: Buffer }[]> {
  const keys: { name: string; key: Buffer }[] = []
  for (const algorithm of Object.keys(algorithms) as Algorithm[]) {
    const made = await costlyKey(algorithm)
    for (const valid of [true, false]) {
      const key = withSignatures(made, { onOne: 2, all: mostSignatures(algorithm), valid })
      keys.push({ name: `${algorithm}, ${valid ? 'valid' : 'invalid'} signatures`, key })
    }
  }
  const small = Buffer.alloc(30_000, Buffer.from([1, 99]))
  return [
    ...keys,
    { name: 'RSA, a signature of small parts', key: rsaKey([signatureWith(small)]) },
    { name: 'RSA, signatures in signatures', key: rsaKey([nestedSignatures(30_000)]) },
  ]
}

/** Prints the processor time of ten keys of each kind: read, and read again to encrypt a share. */
async function costlyBench(print: (text: string) => void): Promise<void> {
  await loadLibrary()
  for (const { name, key } of await costlyKeys()) {
    const text = key.toString('base64')
    for (const [act, work] of [
      ['read', () => fingerprintOf(text, 'key')],
      ['encrypt', () => encryptFor(text, 'ab'.repeat(33), 'key')],
    ] as const) {
      const costs: number[] = []
      let accepted = true
      for (let one = 0; one < COSTLY; one++) {
        const before = process.cpuUsage()
        await work().catch(() => {
          accepted = false
        })
        const { user, system } = process.cpuUsage(before)
        costs.push((user + system) / 1000)
      }
      const told = costs.map(ms => ms.toFixed(1)).join(' ')
      print(`${name.padEnd(38)} ${act.padEnd(8)} ${accepted ? 'accepted' : 'refused '} ${told} ms`)
    }
  }
}

/**
 * `npm run bench -- --ceremony`: processor time of ten costly keys of each algorithm, and processor time of a start that an OpenPGP key's size refuses, as a ratio to that of an
 * ordinary start that is refused, because the slot is taken.
 */
export async function ceremonyBench(print: (text: string) => void): Promise<void> {
  await costlyBench(print)
  const w = await ceremonyWorld(undefined, { of: 'operation' })
  const stranger = { gatewayId: 'bench' }
  const cost = async (body: object): Promise<number> => {
    const one = async () => {
      const { status } = await w.send('PUT', '/attempt', body, stranger)
      if (status !== 400) throw new Error(`a start was answered with ${status}`)
    }
    for (let round = 0; round < WARM_UP; round++) await one()
    w.audited.length = 0
    const before = process.cpuUsage()
    for (let round = 0; round < ROUNDS; round++) await one()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 / ROUNDS
  }
  const keys = [16_384, 65_528].map(bits => ({
    name: `a modulus and exponent of ${bits} bits`,
    key: hostileKey(bits, bits).toString('base64'),
  }))
  const costs: { name: string; bytes: number; ms: number }[] = []
  for (const { name, key } of keys) costs.push({ name, bytes: key.length, ms: await cost({ pgp_key: key }) })
  const otp = randomBytes(16).toString('hex')
  await w.start()
  const ordinary = await cost({ otp: `${otp}x` })
  print(`a refused ordinary start          ${ordinary.toFixed(3)} ms`)
  for (const { name, bytes, ms } of costs)
    print(`${name} (${bytes} bytes)   ${ms.toFixed(3)} ms, ${(ms / ordinary).toFixed(2)} times`)
}
