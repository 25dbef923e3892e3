import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLinkHandler } from '../../../../shared/http/link.ts'
import { readUnverifiedLinkOutcome, signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethodNames } from '../../../../shared/link/methods.ts'
import { follower, primaryWorld, type World } from './world.ts'

// The link refuses every fuzzed message of members and strangers as the sender's fault, and stores nothing of
// it.

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  // Generates fields of any number and wire type, with lengths and counts of any size.
  fc
    .array(fc.tuple(fc.nat(127), fc.uint8Array({ maxLength: 40 })), { maxLength: 20 })
    .map(parts => Uint8Array.from(parts.flatMap(([tag, bytes]) => [tag, bytes.length, ...bytes]))),
)

describe.each(linkMethodNames)('the link method %s', method => {
  test('random bodies signed by a member are answered or refused, and never cause an internal error', async () => {
    const one = follower(w, 'west')
    await one.activate(await w.token('west'))
    await fc.assert(
      fc.asyncProperty(bodies, async body => {
        w.clock.ms += 1000
        const caller = { set: w.set, from: 'west', lineage: [[w.epoch, 1]] as const }
        const means = { signing: one.pair.signing, nonce: randomBytes(16), time: w.clock.ms }
        const outcome = readUnverifiedLinkOutcome(
          await w.serve(method, signLinkCall(method, caller, body, means), ''),
        )
        const said = outcome?.kind === 'refusal' ? outcome.refusal.text : ''
        expect(said).not.toContain('internal error')
      }),
      { numRuns: 60 },
    )
  })
})

const ask = (method: string, type: string, bytes: Uint8Array) =>
  createLinkHandler(w.ports)({
    version: '2.0',
    rawPath: `/cloudauth.link.v1.LinkService/${method}`,
    headers: { 'content-type': type, 'connect-protocol-version': '1' },
    requestContext: { http: { method: 'POST' }, domainName: 'east.example' },
    body: Buffer.from(bytes).toString('base64'),
    isBase64Encoded: true,
  })

/** Frames bytes as gRPC-Web does. */
const framed = (bytes: Uint8Array) => {
  const length = Buffer.alloc(5)
  length.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([length, bytes])
}

test.each(['ff', 'ffffffff', '0affffffff0f', '0a05', '12808080807800'])(
  'the malformed envelope %s is answered with 400 and a text, and with invalid_argument over gRPC-Web',
  async hex => {
    const bytes = Buffer.from(hex, 'hex')
    const before = JSON.stringify(w.stored.all())
    for (const method of linkMethodNames) {
      const plain = await ask(method, 'application/proto', bytes)
      expect([plain.statusCode, Buffer.from(plain.body, 'base64').toString()]).toEqual([
        400,
        expect.stringContaining('"invalid_argument"'),
      ])
      const web = await ask(method, 'application/grpc-web+proto', framed(bytes))
      const text = `${JSON.stringify(web.headers)}${Buffer.from(web.body, 'base64').toString()}`
      expect(text).toMatch(/grpc-status(?:":"|: ?)3\b/)
    }
    expect(JSON.stringify(w.stored.all())).toBe(before)
  },
)
