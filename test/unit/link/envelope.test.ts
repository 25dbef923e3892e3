import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import {
  isLinkCallSignedBy,
  readCallEnvelope,
  signLinkAnswer,
  signLinkCall,
  verifyLinkOutcome,
} from '../../../shared/link/envelope.ts'
import { linkMethodNames } from '../../../shared/link/methods.ts'
import {
  type Answer,
  AnswerSchema,
  type Call,
  CallSchema,
  LinkService,
} from '../../../shared/wire/gen/link_pb.ts'
import { pair, withOneBitChanged } from '../../builders/link.ts'

const own = pair()
const now = 1_700_000_000_000
const lineage = [['000001.0123456789ab', 1]] as const
const body = Buffer.from('what is asked')
const nonce = randomBytes(16)
const call = signLinkCall('Heartbeat', { set: 'a set', from: 'us-west', lineage }, body, {
  signing: own.signing,
  nonce,
  time: now,
})
const isOwn = (one: Call, method: 'Heartbeat' | 'Activate' = 'Heartbeat'): boolean => {
  const envelope = readCallEnvelope(one)
  return envelope !== undefined && isLinkCallSignedBy(own.keys.signing, method, envelope, one.body)
}
const read = (bytes: Uint8Array): Call | undefined => {
  try {
    return fromBinary(CallSchema, bytes)
  } catch {
    return undefined
  }
}

describe('the envelope of a call over the link', () => {
  test('a call is verified by its signature', () => {
    expect(isOwn(call)).toBe(true)
    const envelope = readCallEnvelope(call)
    expect(envelope && isLinkCallSignedBy(pair().keys.signing, 'Heartbeat', envelope, body)).toBe(false)
  })

  test('a call of one method is not accepted as a call of another method', () => {
    expect(isOwn(call, 'Activate')).toBe(false)
  })

  test('a call is unchanged after encoding and decoding', () => {
    expect(isOwn(fromBinary(CallSchema, toBinary(CallSchema, call)))).toBe(true)
  })

  test('a call with one changed bit, cut off or extended, is refused, or means the same', () => {
    const bytes = toBinary(CallSchema, call)
    const changed = [
      ...withOneBitChanged(bytes),
      ...Array.from(bytes, (_, at) => bytes.subarray(0, at)),
      Buffer.concat([bytes, Buffer.from('1a0178', 'hex')]),
      Buffer.concat([bytes, bytes.subarray(bytes.length - body.length - 2, bytes.length - 1), Buffer.of(0)]),
    ]
    for (const [index, one] of changed.entries()) {
      const parsed = read(one)
      const believed = parsed !== undefined && isOwn(parsed)
      expect(believed && !equals(CallSchema, parsed, call), `change ${index}`).toBe(false)
    }
  })

  test.each([
    ['no envelope', create(CallSchema, { body })],
    ['a short nonce', changed({ nonce: nonce.subarray(1) })],
    ['no signature', changed({ signature: new Uint8Array() })],
    ['a time above the safe integers', changed({ time: 2n ** 62n })],
  ])('an envelope with %s is rejected', (_, one) => {
    expect(readCallEnvelope(one)).toBeUndefined()
  })
})

function changed(members: Partial<NonNullable<Call['envelope']>>): Call {
  const copy = fromBinary(CallSchema, toBinary(CallSchema, call))
  Object.assign(copy.envelope ?? {}, members)
  return copy
}

const bare = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('the envelope of an answer over the link', () => {
  const outcomes = [
    { kind: 'body', body: Buffer.from('what is said') },
    {
      kind: 'refusal',
      refusal: { code: 'permission_denied', text: 'revoked', addresses: ['https://a', 'https://b'] },
    },
  ] as const
  const sign = (outcome: (typeof outcomes)[number]) =>
    signLinkAnswer('Heartbeat', nonce, outcome, { signing: own.signing, now })

  test.each(outcomes)('a caller that knows the key accepts the answer: %j', outcome => {
    const answer = sign(outcome)
    expect(verifyLinkOutcome(own.keys.signing, 'Heartbeat', nonce, answer)).toEqual(outcome)
    expect(verifyLinkOutcome(pair().keys.signing, 'Heartbeat', nonce, answer)).toBeUndefined()
    expect(verifyLinkOutcome(own.keys.signing, 'Entries', nonce, answer)).toBeUndefined()
    expect(verifyLinkOutcome(own.keys.signing, 'Heartbeat', randomBytes(16), answer)).toBeUndefined()
  })

  test.each(outcomes)('an answer with one changed bit is rejected, or means the same: %j', outcome => {
    for (const bytes of withOneBitChanged(toBinary(AnswerSchema, sign(outcome)))) {
      let answer: Answer
      try {
        answer = fromBinary(AnswerSchema, bytes)
      } catch {
        continue
      }
      const said = verifyLinkOutcome(own.keys.signing, 'Heartbeat', nonce, answer)
      expect(said === undefined || isDeepStrictEqual(bare(said), bare(outcome)), bytes.toString('hex')).toBe(
        true,
      )
    }
  })

  test('an unsigned answer is rejected', () => {
    const answer = signLinkAnswer('Heartbeat', nonce, outcomes[1], { signing: undefined, now })
    expect(verifyLinkOutcome(own.keys.signing, 'Heartbeat', nonce, answer)).toBeUndefined()
  })

  test('the list of link methods equals the methods of the gRPC service', () => {
    expect(linkMethodNames.toSorted()).toEqual(LinkService.methods.map(({ name }) => name).toSorted())
  })
})
