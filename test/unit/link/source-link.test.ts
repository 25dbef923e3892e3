import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JournalLineage } from '../../../shared/journal/position.ts'
import {
  isLinkCallSignedBy,
  type LinkOutcome,
  readCallEnvelope,
  signLinkAnswer,
} from '../../../shared/link/envelope.ts'
import { linkMethods, type MethodQuestion, type MethodReply } from '../../../shared/link/methods.ts'
import {
  LINK_FORMAT,
  LinkRefused,
  LinkSilent,
  LinkUnbelieved,
  LinkUnsigned,
} from '../../../shared/link/source.ts'
import { createSourceLink } from '../../../shared/link/source-link.ts'
import type { Key } from '../../../shared/storage/kinds.ts'
import type { CarryLinkCall, LinkMethod } from '../../../shared/wire/carry.ts'
import type { Call } from '../../../shared/wire/gen/link_pb.ts'
import { pair } from '../../builders/link.ts'

const [own, primary] = [pair(), pair()]
const lineage: JournalLineage = [['000001.0123456789ab', 1]]
const epoch = '000001.0123456789ab'
const position = { epoch, seq: 7 }
const heartbeatReply = {
  seq: 9,
  frontier: 8,
  epoch,
  lineage,
  addresses: ['https://a'],
  memberAddresses: [],
  apiAddress: '',
  canaryAt: 5,
  format: LINK_FORMAT,
  term: 'the newest',
}
const question = { position, state: 'stream-wals', address: '', apiAddress: '' }

interface Fake {
  now?: () => number
  /** returns the primary's time; absent: the primary has the same clock */
  theirs?: () => number
  /** key that signs the answers; absent: the primary's key */
  key?: typeof primary.signing | 'none'
  reply: (method: LinkMethod, call: Call) => LinkOutcome
}

function link({ now = () => 1000, theirs = now, key = primary.signing, reply }: Fake) {
  const calls: Call[] = []
  const carry: CarryLinkCall = async (method, call) => {
    calls.push(call)
    const envelope = readCallEnvelope(call)
    if (!envelope || !isLinkCallSignedBy(own.keys.signing, method, envelope, call.body))
      throw new Error('not signed')
    return signLinkAnswer(method, envelope.nonce, reply(method, call), {
      signing: key === 'none' ? undefined : key,
      now: theirs(),
    })
  }
  const end = {
    set: 'a set',
    from: 'us-west',
    signing: own.signing,
    keys: own.keys,
    otherKey: primary.keys.signing,
  }
  return {
    calls,
    source: createSourceLink(end, { carry, clock: { now }, entropy: { bytes: randomBytes }, rules }),
  }
}

const rules = { plainEndpoints: false }

const body = <M extends LinkMethod>(method: M, reply: MethodReply<M>): LinkOutcome => ({
  kind: 'body',
  body: (linkMethods[method].forms.answer.write as (value: MethodReply<M>) => Uint8Array)(reply),
})
const asked = <M extends LinkMethod>(method: M, call: Call) =>
  linkMethods[method].forms.question.read(call.body) as MethodQuestion<M>

describe("the secondary's client of the primary's link", () => {
  test('the client measures the round trip and the clock difference', async () => {
    let at = 1000
    const { source } = link({
      now: () => at,
      theirs: () => at + 5000,
      reply: () => {
        at += 200
        return body('Heartbeat', heartbeatReply)
      },
    })
    // The call was sent at 1000 and answered when this clock shows 1200 and the primary's clock 6200: halfway
    // this clock showed 1100.
    expect(await source.heartbeat(question)).toEqual({
      ...heartbeatReply,
      time: 6200,
      roundTripMs: 200,
      skewMs: 5100,
    })
  })

  test('the client sends the duration of the last heartbeat', async () => {
    const tooks: number[] = []
    let at = 0
    const { source } = link({
      now: () => at,
      reply: (_, call) => {
        at += 200
        tooks.push(asked('Heartbeat', call).roundTripMs)
        return body('Heartbeat', heartbeatReply)
      },
    })
    await source.heartbeat(question)
    await source.heartbeat(question)
    expect(tooks).toEqual([0, 200])
  })

  test('the client gives every call a later time, whatever the clock does', async () => {
    const clock = [1000, 1000, 1000, 900, 900, 900]
    const { source, calls } = link({
      now: () => clock.shift() ?? 900,
      reply: () => body('Heartbeat', heartbeatReply),
    })
    for (let count = 0; count < 4; count++) await source.heartbeat(question)
    const times = calls.map(call => Number(call.envelope?.time))
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b))
    expect(new Set(times).size).toBe(4)
  })

  test('the client sends the lineage with each call, once the lineage is known', async () => {
    const { source, calls } = link({ reply: () => body('Heartbeat', heartbeatReply) })
    await source.heartbeat(question)
    await source.heartbeat(question)
    expect(calls.map(call => [call.envelope?.epoch, call.envelope?.lineageDigest.length])).toEqual([
      ['', 0],
      [epoch, 32],
    ])
  })

  test('the client throws a refusal with its addresses', async () => {
    const refusal = {
      code: 'permission_denied',
      text: 'us-west is revoked',
      addresses: ['https://b'],
    } as const
    const { source } = link({ reply: () => ({ kind: 'refusal', refusal }) })
    const error = await source.heartbeat(question).catch((one: unknown) => one)
    expect(error).toBeInstanceOf(LinkRefused)
    expect(error).toMatchObject({ message: refusal.text, code: refusal.code, addresses: refusal.addresses })
  })

  test('the client rejects an answer signed by another key, and quotes the answer', async () => {
    const refusal = { code: 'unavailable', text: 'nobody is here', addresses: [] } as const
    const { source } = link({ key: pair().signing, reply: () => ({ kind: 'refusal', refusal }) })
    await expect(source.heartbeat(question)).rejects.toThrow(LinkUnbelieved)
    await expect(source.heartbeat(question)).rejects.toThrow('not signed by the key of this set')
    await expect(source.heartbeat(question)).rejects.toThrow('nobody is here')
  })

  test('the client rejects an unsigned answer as LinkUnsigned, and quotes the answer', async () => {
    const refusal = { code: 'unavailable', text: 'internal error', addresses: [] } as const
    const { source } = link({ key: 'none', reply: () => ({ kind: 'refusal', refusal }) })
    const attempt = source.heartbeat(question)
    await expect(attempt).rejects.toThrow(LinkUnsigned)
    await expect(attempt).rejects.toThrow('is not signed at all; the answer said: internal error')
  })

  test('the common deadline limits every call', async () => {
    const waits: number[] = []
    const end = { set: 's', from: 'w', signing: own.signing, keys: own.keys, otherKey: primary.keys.signing }
    let at = 0
    const carry: CarryLinkCall = async (_, __, timeoutMs) => {
      waits.push(timeoutMs)
      at += timeoutMs
      throw new Error('no answer')
    }
    const clock = { now: () => at }
    const source = createSourceLink(end, {
      carry,
      clock,
      entropy: { bytes: randomBytes },
      rules,
      until: 14_000,
    })
    for (let tries = 0; tries < 4; tries++)
      await expect(source.heartbeat(question)).rejects.toThrow(LinkSilent)
    expect(waits).toEqual([10_000, 4000])
  })

  test('the client throws LinkSilent with the cause if no answer arrives', async () => {
    const { source } = link({
      reply: () => {
        throw new Error('connection refused')
      },
    })
    await expect(source.heartbeat(question)).rejects.toThrow(LinkSilent)
    await expect(source.heartbeat(question)).rejects.toThrow('no answer to Heartbeat: connection refused')
  })

  test('the client throws LinkSilent for an unreadable answer', async () => {
    const { source } = link({ reply: () => ({ kind: 'body', body: Buffer.from('0a', 'hex') }) })
    await expect(source.heartbeat(question)).rejects.toThrow(LinkSilent)
  })

  test('the client refuses a primary with a higher format, with advice', async () => {
    const { source } = link({
      reply: () => body('Heartbeat', { ...heartbeatReply, format: LINK_FORMAT + 1 }),
    })
    await expect(source.heartbeat(question)).rejects.toThrow('upgrade the secondaries first')
  })

  test('the client rejects a primary without a format', async () => {
    const { source } = link({ reply: () => body('Heartbeat', { ...heartbeatReply, format: 0 }) })
    await expect(source.heartbeat(question)).rejects.toThrow('the primary does not state its link format')
  })

  test('the client requests items until all keys are answered, and returns the head of the last answer', async () => {
    const keys = Array.from(
      { length: 230 },
      (_, index): Key => ({ kind: 'role', pk: 'a', sk: String(index) }),
    )
    const sizes: number[] = []
    const { source } = link({
      reply: (_, call) => {
        const { keys: part } = asked('Items', call)
        sizes.push(part.length)
        const answered = part.slice(0, 60)
        const items = answered.map(({ sk, pk, kind }) =>
          Number(sk) % 2 ? undefined : { kind, pk, sk, rev: 'r', data: { of: sk } },
        )
        return body('Items', { items, seq: sizes.length, lineage, epoch })
      },
    })
    const { items, seq } = await source.items({ keys })
    expect(items.map(item => item?.sk)).toEqual(keys.map(({ sk }) => (Number(sk) % 2 ? undefined : sk)))
    expect(sizes).toEqual([100, 100, 100, 50])
    expect(seq).toBe(4)
  })

  test('the client stops when a primary answers no keys', async () => {
    const { source } = link({ reply: () => body('Items', { items: [], seq: 1, lineage, epoch }) })
    await expect(source.items({ keys: [{ kind: 'role', pk: 'a', sk: 'b' }] })).rejects.toThrow(LinkSilent)
  })
})
