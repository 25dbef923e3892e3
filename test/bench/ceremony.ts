import { randomBytes } from 'node:crypto'
import { hostileKey } from '../support/requests/pgp.ts'
import { ceremonyWorld } from '../unit/ceremony/support.ts'

const ROUNDS = 400
const WARM_UP = 50

/**
 * `npm run bench -- --ceremony`: processor time of a start that an OpenPGP key's size refuses, as a ratio to that of an
 * ordinary start that is refused, because the slot is taken.
 */
export async function ceremonyBench(print: (text: string) => void): Promise<void> {
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
