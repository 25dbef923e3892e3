import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createNotifier } from '../../../../shared/link/outgoing/notify.ts'
import { formatLinkPublicKeys } from '../../../../shared/link/pair.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { CarryLinkCall } from '../../../../shared/wire/carry.ts'
import { follower, primaryWorld, START, type World } from '../serve/world.ts'

let primary: World
beforeEach(async () => {
  primary = await primaryWorld()
})

const entropy = { bytes: randomBytes, uuid: randomUUID }

describe('notices of a primary to its secondaries', () => {
  /** Makes an admitted secondary, as a cluster with a link service. */
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
    // the secondary signs answers with the key with which it was admitted
    await primary.write(key('secondary', name), { ...known, publicKey: formatLinkPublicKeys(world.keys) })
    return world
  }

  const notifying = (carry: (address: string) => CarryLinkCall) => {
    const waits: number[] = []
    const clock = {
      now: () => primary.clock.ms,
      sleep: async (ms: number) => {
        waits.push(ms)
        primary.clock.ms += ms
      },
    }
    // imitates the ports of a function: reading an undeclared port throws
    const ports = Object.defineProperty({ ...primary.ports, clock, entropy } as never, 'instances', {
      enumerable: true,
      get: () => {
        throw new Error('undeclared')
      },
    })
    return { waits, notify: createNotifier(ports, ({ addresses }) => carry(addresses[0] ?? '')) }
  }

  test('notices reach every secondary with an address, and an unreachable secondary does not block others', async () => {
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

  test('notices are sent at most every four seconds to a secondary that has answered', async () => {
    const west = await secondary('west')
    const { notify, waits } = notifying(() => (method, call) => west.serve(method, call, ''))
    await notify()
    await Promise.all([notify(), notify(), notify()])
    expect(west.woken).toHaveLength(1)
    expect(waits).toEqual([0, 200])
    primary.clock.ms += 3700
    await notify()
    expect(west.woken).toHaveLength(1)
    primary.clock.ms += 100
    await notify()
    expect(west.woken).toHaveLength(2)
  })

  test('unanswered notices are repeated with the next change, at most five times a second', async () => {
    const west = await secondary('west')
    let tries = 0
    const { notify, waits } = notifying(() => async (method, call) => {
      tries += 1
      if (tries < 3) throw new Error('nobody is there')
      return west.serve(method, call, '')
    })
    for (let changes = 0; changes < 4; changes++) await Promise.all([notify(), notify()])
    expect([tries, west.woken.length]).toEqual([3, 1])
    expect(waits).toEqual([0, 200, 200, 200])
  })

  test('only the primary sends notices', async () => {
    const west = await secondary('west')
    await primary.write(key('cluster'), { ...primary.record, mode: 'secondary' })
    const { notify } = notifying(() => (method, call) => west.serve(method, call, ''))
    await notify()
    expect(west.woken).toEqual([])
    expect(primary.clock.ms).toBe(START)
  })
})
