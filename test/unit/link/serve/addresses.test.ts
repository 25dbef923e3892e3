import { beforeEach, describe, expect, test } from 'vitest'
import { readOtherMemberAddresses } from '../../../../shared/link/serve/addresses.ts'
import { putItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { follower, primaryWorld, type World } from './world.ts'

// Members report addresses. No cluster may be led to addresses that only its own machines can reach.

const BAD = [
  'https://169.254.169.254',
  'https://2852039166',
  'https://[::ffff:7f00:1]',
  'https://localhost.',
  'http://west.example',
  'https://me:secret@west.example',
  'https://west.example/admin',
  'https://west.example?x',
]

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

const everything = () => JSON.stringify(w.stored.all())

describe.each(BAD)('the private or malformed address %s', bad => {
  test('an activation with the address is refused, and the token stays usable', async () => {
    const one = follower(w, 'west')
    const token = await w.token('west')
    await expect(one.source.activate({ ...one.request, token, address: bad })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    expect(everything()).not.toContain(bad)
    await one.activate(token)
  })

  test('the address is dropped from a heartbeat, and the rest of the heartbeat is stored', async () => {
    const one = follower(w, 'west')
    await one.activate(await w.token('west'))
    w.clock.ms += 1000
    const position = { epoch: w.epoch, seq: 0 }
    await one.source.heartbeat({ position, state: 'stream-wals', address: bad, apiAddress: bad })
    expect((await w.secondary('west'))?.heartbeat?.at).toBe(w.clock.ms)
    expect((await w.secondary('west'))?.address).toBe('https://west.example')
    expect(everything()).not.toContain(bad)
  })

  test('the address is sent to no cluster, even if an earlier version has stored the address', async () => {
    await follower(w, 'west').activate(await w.token('west'))
    const place = key('member', 'somebody')
    const stored = putItem(place, { statements: [], addresses: [bad, 'https://old.example'] })
    await w.store.commit([stored])
    expect(everything()).toContain(bad)
    expect(await readOtherMemberAddresses(w.ports)).toEqual(['https://west.example', 'https://old.example'])
  })
})
