import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Carry } from '../../../../shared/link/carry.ts'
import { notifier } from '../../../../shared/link/outgoing/notify.ts'
import { publicKeyText } from '../../../../shared/link/pair.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { follower, primaryWorld, START, type World } from '../serve/world.ts'

let primary: World
beforeEach(async () => {
  primary = await primaryWorld()
})

const entropy = { bytes: randomBytes, uuid: randomUUID }

describe('notices', () => {
  /** A secondary that was admitted, as a cluster with a service of its own. */
  async function secondary(name: string) {
    const world = await primaryWorld()
    await follower(primary, name).activate(await primary.token(name))
    await world.write(key('cluster'), {
      ...world.record,
      mode: 'secondary',
      set: primary.set,
      link: { ...world.record.link, primaryKey: primary.keys.signing.toString('base64') },
    })
    const known = await primary.secondary(name)
    // it signs its answers by the key that it was admitted with
    await primary.write(key('secondary', name), { ...known, publicKey: publicKeyText(world.keys) })
    return world
  }

  const notifying = (carry: (address: string) => Carry) => {
    const waits: number[] = []
    const clock = {
      now: () => primary.clock.ms,
      sleep: async (ms: number) => {
        waits.push(ms)
        primary.clock.ms += ms
      },
    }
    // as those of a function are: what it has not declared must not even be looked at
    const ports = Object.defineProperty({ ...primary.ports, clock, entropy } as never, 'instances', {
      enumerable: true,
      get: () => {
        throw new Error('undeclared')
      },
    })
    return { waits, notify: notifier(ports, ({ addresses }) => carry(addresses[0] ?? '')) }
  }

  test('reach every secondary that has an address, and wake it; one that cannot be reached stops no other', async () => {
    const [west, north] = [await secondary('west'), await secondary('north')]
    await primary.token('unused')
    await primary.revoke('north')
    const { notify } = notifying(address => async (method, call) => {
      if (address.includes('north')) throw new Error('revoked ones are not told')
      return west.serve(method, call, '')
    })
    await notify()
    expect([west.woken, north.woken]).toEqual([['woken'], []])
    const { notify: unheard } = notifying(() => async () => {
      throw new Error('nobody is there')
    })
    await unheard()
    expect(JSON.stringify(primary.log)).toContain('nobody is there')
  })

  test('are five in a second at most, and the last change is told of', async () => {
    const west = await secondary('west')
    const { notify, waits } = notifying(() => (method, call) => west.serve(method, call, ''))
    await notify()
    const burst = [notify(), notify(), notify()]
    await Promise.all(burst)
    expect(west.woken).toHaveLength(2)
    expect(waits).toEqual([0, 200])
    primary.clock.ms += 1000
    await notify()
    expect(west.woken).toHaveLength(3)
    expect(waits).toEqual([0, 200, 0])
  })

  test('are the primary’s alone: another cluster sends none', async () => {
    const west = await secondary('west')
    await primary.write(key('cluster'), { ...primary.record, mode: 'secondary' })
    const { notify } = notifying(() => (method, call) => west.serve(method, call, ''))
    await notify()
    expect(west.woken).toEqual([])
    expect(primary.clock.ms).toBe(START)
  })
})
