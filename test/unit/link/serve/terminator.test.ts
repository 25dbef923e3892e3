import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { readActivationClaims } from '../../../../shared/link/activation-token.ts'
import { signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethods } from '../../../../shared/link/methods.ts'
import { LinkRefused, LinkSilent } from '../../../../shared/link/source.ts'
import type { CarryLinkCall } from '../../../../shared/wire/carry.ts'
import type { Call } from '../../../../shared/wire/gen/link_pb.ts'
import { pair } from '../../../builders/link.ts'
import { follower, primaryWorld, type World } from './world.ts'

// A TLS terminator between two clusters intercepts the call with an activation token, and misuses the token.

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

/** Makes a cluster whose `Activate` never arrives, because the terminator keeps it. */
async function keptBack(name = 'west') {
  const kept: Call[] = []
  const carry: CarryLinkCall = async (_method, call) => {
    kept.push(call)
    throw new Error('the connection was reset')
  }
  const honest = follower(w, name, { carry })
  const token = await w.token(name)
  await expect(honest.activate(token)).rejects.toThrow(LinkSilent)
  const [call] = kept
  if (!call) throw new Error('nothing was sent')
  return { honest, token, call }
}

const refusalOf = async (call: Call): Promise<string> => {
  const { outcome } = await w.serve('Activate', call, '')
  return outcome.case === 'refusal' ? outcome.value.text : String(outcome.case)
}

/** Returns all bytes of a body, including bytes that are encoded in it. */
const readsIn = (body: Uint8Array): string => {
  const text = Buffer.from(body).toString('latin1')
  return text + Buffer.from(text, 'base64').toString('latin1')
}

describe('a TLS terminator that intercepts an Activate call', () => {
  test('the terminator can read neither the activation token nor its one-use part', async () => {
    const { token, call } = await keptBack()
    expect(readsIn(call.body)).not.toContain(token)
    expect(readsIn(call.body)).not.toContain(readActivationClaims(token)?.jti)
    expect(linkMethods.Activate.forms.question.read(call.body)).toMatchObject({ token: '', cluster: '' })
  })

  test('the terminator is refused when it signs the call with its own keys, and no cluster is admitted', async () => {
    const { call } = await keptBack()
    const thief = pair()
    const caller = { set: w.set, from: 'west', lineage: [] }
    const own = { signing: thief.signing, nonce: randomBytes(16), time: w.clock.ms + 1 }
    expect(await refusalOf(signLinkCall('Activate', caller, call.body, own))).toContain(
      'the call is not signed by the key that it names',
    )
    expect((await w.secondary('west'))?.activatedAt).toBeUndefined()
  })

  test('the terminator is refused when it sends the sealed request to another primary of the set', async () => {
    const { call } = await keptBack()
    const other = await primaryWorld({ set: w.set })
    const { outcome } = await other.serve('Activate', call, '')
    expect(outcome).toMatchObject({
      value: { text: expect.stringContaining('not encrypted to the key of this cluster') },
    })
  })

  test('the terminator cannot replay the call after passing it on, and only the honest cluster is admitted', async () => {
    const { honest, call } = await keptBack()
    expect(await refusalOf(call)).toBe('body')
    expect((await w.secondary('west'))?.cluster).toBe(honest.cluster)
    expect(await refusalOf(call)).toContain('already received a call')
  })
})

describe('an activation with a second token and the id of an admitted cluster', () => {
  /** Uses a token for another name under the id of the first cluster. */
  const under = async (name: string, cluster: string, more: object = {}) => {
    const one = follower(w, name)
    const token = await w.token(name)
    return { one, activated: one.source.activate({ ...one.request, cluster, token, ...more }) }
  }

  test('the activation with new keys is refused, and the honest cluster stays admitted', async () => {
    const honest = follower(w, 'west')
    await honest.activate(await w.token('west'))
    w.clock.ms += 1000
    const { activated } = await under('thief', honest.cluster)
    await expect(activated).rejects.toThrow(`${honest.cluster} is admitted here as west, with other keys`)
    await w.revoke('thief')
    w.clock.ms += 1000
    expect((await honest.heartbeat()).epoch).toBe(w.epoch)
  })

  test('the activation with a proof by an unknown key is refused', async () => {
    const honest = follower(w, 'west')
    await honest.activate(await w.token('west'))
    const { activated } = await under('thief', honest.cluster, { earlier: pair().signing })
    await expect(activated).rejects.toThrow(LinkRefused)
  })

  test('the activation with a proof by the known key is accepted', async () => {
    const honest = follower(w, 'west')
    await honest.activate(await w.token('west'))
    const { activated } = await under('west-2', honest.cluster, { earlier: honest.pair.signing })
    expect((await activated).set).toBe(w.set)
  })

  test('the activation is accepted after the earlier admission was revoked', async () => {
    const honest = follower(w, 'west')
    await honest.activate(await w.token('west'))
    w.clock.ms += 1000
    await w.revoke('west')
    w.clock.ms += 1000
    const { activated } = await under('west-2', honest.cluster)
    expect((await activated).set).toBe(w.set)
  })
})
