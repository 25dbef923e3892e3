import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { createLinkHandler } from '../../../../shared/http/link.ts'
import { createLinkCallSender } from '../../../../shared/link/call.ts'
import { signLinkAnswer, signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethodNames, linkMethods } from '../../../../shared/link/methods.ts'
import { LINK_FORMAT, LinkRefused, LinkSilent } from '../../../../shared/link/source.ts'
import type { LinkMethod } from '../../../../shared/wire/carry.ts'
import { CallSchema } from '../../../../shared/wire/gen/link_pb.ts'
import { pair } from '../../../builders/link.ts'
import { mutated, mutations } from '../../../builders/mutations.ts'
import { follower, primaryWorld } from './world.ts'

// Changes bytes on the wire: of whole calls with their envelopes, by every protocol, and of signed answers of
// a primary. No change may cause an internal error.

/** Number of changed calls and answers for each method. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 25)

type Kept = Record<LinkMethod, Record<'question' | 'answer', string>>
const kept = JSON.parse(readFileSync(`${checkoutRoot}test/vectors/formats/${LINK_FORMAT}.json`, 'utf8')) as {
  messages: Kept
}
const keptBytes = (method: LinkMethod, which: 'question' | 'answer') =>
  Buffer.from(kept.messages[method][which], 'base64')

/**
 * The error codes of Connect that the link may answer: the codes of refusals, and the codes of the library
 * itself, without `internal` and `unknown`.
 */
const DECLARED = new Set([
  'unauthenticated',
  'permission_denied',
  'failed_precondition',
  'unavailable',
  'invalid_argument',
  'resource_exhausted',
  'unimplemented',
  'deadline_exceeded',
])
/** The codes of `DECLARED` as numbers, for gRPC-Web. */
const NUMBERS = new Set([0, 3, 4, 7, 8, 9, 12, 14, 16])

const types = [
  'application/proto',
  'application/grpc-web',
  'application/grpc-web+proto',
  'application/json',
  'application/grpc',
  'text/plain',
] as const

const framed = (type: string, bytes: Buffer): Buffer => {
  if (!type.startsWith('application/grpc')) return bytes
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

let w: Awaited<ReturnType<typeof primaryWorld>>
let one: ReturnType<typeof follower>
beforeAll(async () => {
  w = await primaryWorld()
  one = follower(w, 'west')
  await one.activate(await w.token('west'))
})

/** Returns the bytes of a call on the wire. */
function callBytes(method: LinkMethod): Buffer {
  w.clock.ms += 1000
  const means = { signing: one.pair.signing, nonce: randomBytes(16), time: w.clock.ms }
  const caller = {
    set: w.set,
    from: method === 'Fence' ? one.cluster : 'west',
    lineage: [[w.epoch, 1]] as const,
  }
  return Buffer.from(toBinary(CallSchema, signLinkCall(method, caller, keptBytes(method, 'question'), means)))
}

async function sent(path: string, type: string, body: Buffer) {
  const answer = await createLinkHandler(w.ports)({
    version: '2.0',
    rawPath: path,
    headers: {
      'content-type': type,
      ...(type === 'application/proto' ? { 'connect-protocol-version': '1' } : {}),
    },
    requestContext: { http: { method: 'POST' }, domainName: 'east.example' },
    body: body.toString('base64'),
    isBase64Encoded: true,
  })
  const text = Buffer.from(answer.body ?? '', 'base64')
  const ofGrpc = type.startsWith('application/grpc-web')
    ? /grpc-status: ?(\d+)/i.exec(text.toString('latin1'))?.[1]
    : undefined
  const inHeader = answer.headers['grpc-status']
  return { status: answer.statusCode, text: text.toString('utf8'), grpc: ofGrpc ?? inHeader }
}

function expectDeclared({ status, text, grpc }: Awaited<ReturnType<typeof sent>>): void {
  expect([200, 400, 401, 403, 404, 405, 413, 415, 429, 501, 503], text).toContain(status)
  if (grpc !== undefined) expect(NUMBERS, text).toContain(Number(grpc))
  if (status < 400 || !text.startsWith('{')) return
  const { code } = JSON.parse(text) as { code?: string }
  if (code !== undefined) expect(DECLARED, text).toContain(code)
}

describe.each(linkMethodNames)('the link method %s', method => {
  test('a call with changed bytes is refused with a declared code, or answered', {
    timeout: 600_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(mutations, fc.constantFrom(...types), fc.boolean(), async (all, type, inside) => {
        const bytes = callBytes(method)
        // either the call or its frame has changed bytes
        const body = inside ? framed(type, mutated(bytes, all)) : mutated(framed(type, bytes), all)
        expectDeclared(await sent(`/cloudauth.link.v1.LinkService/${method}`, type, body))
      }),
      { numRuns: RUNS },
    )
  })

  test('a signed answer with changed bytes is read, or counts as no answer', {
    timeout: 600_000,
  }, async () => {
    const mine = pair()
    const answer = keptBytes(method, 'answer')
    const question = linkMethods[method].forms.question.read(keptBytes(method, 'question'))
    await fc.assert(
      fc.asyncProperty(mutations, async all => {
        const ask = createLinkCallSender(
          { set: w.set, from: 'west', signing: one.pair.signing, otherKey: mine.keys.signing },
          {
            carry: async (_, call) => {
              const nonce = call.envelope?.nonce ?? Buffer.alloc(0)
              const means = { signing: mine.signing, now: w.clock.ms }
              return signLinkAnswer(method, nonce, { kind: 'body', body: mutated(answer, all) }, means)
            },
            clock: { now: () => w.clock.ms },
            entropy: { bytes: randomBytes },
            rules: { plainEndpoints: false },
          },
        )
        const got = await ask(method, question as never, [[w.epoch, 1]]).catch((error: unknown) => error)
        if (got instanceof Error)
          expect(
            [LinkSilent, LinkRefused].some(one => got instanceof one),
            String(got),
          ).toBe(true)
      }),
      { numRuns: RUNS },
    )
  })
})

test.each([1, 2, 0x80, 0xff])('a gRPC-Web frame with the flags %d is refused with a text', async flags => {
  const body = framed('application/grpc-web', callBytes('Heartbeat'))
  body.writeUInt8(flags, 0)
  const { status, grpc } = await sent(
    '/cloudauth.link.v1.LinkService/Heartbeat',
    'application/grpc-web',
    body,
  )
  // invalid argument
  expect([status, Number(grpc)]).toEqual([200, 3])
})

test.each([0, 1, 2, 200, -1])('a gRPC-Web frame with the length %d is refused with a text', async length => {
  const body = framed('application/grpc-web', callBytes('Notify'))
  body.writeUInt32BE(length < 0 ? body.length - 4 : length, 1)
  const { status, grpc } = await sent('/cloudauth.link.v1.LinkService/Notify', 'application/grpc-web', body)
  expect([status, Number(grpc)]).toEqual([200, 3])
})

test('bytes that are not a call are refused with a declared code', { timeout: 600_000 }, async () => {
  const path = fc.oneof(
    fc.constantFrom(...linkMethodNames).map(name => `/cloudauth.link.v1.LinkService/${name}`),
    fc.constantFrom(
      '/cloudauth.link.v1.LinkService/None',
      '/cloudauth.link.v1.LinkService/',
      '/',
      '//',
      '/x/..',
    ),
  )
  await fc.assert(
    fc.asyncProperty(
      path,
      fc.constantFrom(...types),
      fc.uint8Array({ maxLength: 300 }),
      async (at, type, bytes) => {
        expectDeclared(await sent(at, type, Buffer.from(bytes)))
      },
    ),
    { numRuns: RUNS * 2 },
  )
  expectDeclared(
    await sent(
      '/cloudauth.link.v1.LinkService/Heartbeat',
      'application/proto',
      Buffer.from(toBinary(CallSchema, create(CallSchema, {}))),
    ),
  )
})
