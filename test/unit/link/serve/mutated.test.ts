import { randomBytes } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLinkHandler } from '../../../../shared/http/link.ts'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import { sealActivationRequest } from '../../../../shared/link/activation-request.ts'
import { signLinkCall } from '../../../../shared/link/envelope.ts'
import { linkMethodNames, linkMethods } from '../../../../shared/link/methods.ts'
import { LINK_FORMAT } from '../../../../shared/link/source.ts'
import { sealBoxForKey } from '../../../../shared/storage/box.ts'
import type { LinkMethod } from '../../../../shared/wire/carry.ts'
import { CallSchema, file_link } from '../../../../shared/wire/gen/link_pb.ts'
import { LONGEST, mutated, mutations } from '../../../builders/mutations.ts'
import { follower, primaryWorld } from './world.ts'

/** Number of changed requests of each kind. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 80)

// A member signs a valid request with some changed bytes. The primary answers the request or refuses it as
// the sender's fault; a refused request changes nothing.

/** Makes a primary, with requests of a secondary, and of a new cluster that has a token. */
async function scene() {
  const w = await primaryWorld()
  const one = follower(w, 'west')
  await one.activate(await w.token('west'))
  w.clock.ms += 1000
  return { w, one, token: await w.token('north'), north: follower(w, 'north') }
}
type Scene = Awaited<ReturnType<typeof scene>>

const activation = ({ w, north, token }: Scene) => {
  const keys = { signingKey: north.keys.signing, exchangeKey: north.keys.exchange, format: LINK_FORMAT }
  const nothing = { sealed: '', proof: Buffer.alloc(0), earlierProof: Buffer.alloc(0) }
  const to = { set: w.set, recipient: w.keys.exchange }
  return sealActivationRequest({ ...north.request, ...keys, ...nothing, token }, to, north.pair, randomBytes)
}

/** Makes a request of each method, in the method's own form. */
const questions: Readonly<Record<LinkMethod, (of: Scene) => Uint8Array>> = {
  Activate: of => linkMethods.Activate.forms.question.write(activation(of)),
  Heartbeat: ({ w, one: { request } }) =>
    linkMethods.Heartbeat.forms.question.write({
      position: { epoch: w.epoch, seq: 0 },
      state: 'stream-wals',
      format: LINK_FORMAT,
      roundTripMs: 5,
      address: request.address,
      apiAddress: 'https://api.example',
    }),
  Entries: ({ w }) =>
    linkMethods.Entries.forms.question.write({ lineage: [[w.epoch, 1]], after: 0, maxBytes: 1000 }),
  Items: () => linkMethods.Items.forms.question.write({ keys: [{ kind: 'policy', pk: 'policy', sk: 'a' }] }),
  Scan: () =>
    linkMethods.Scan.forms.question.write({ segment: 0, segments: 2, cursor: { pk: 'policy', sk: 'a' } }),
  Tree: () => linkMethods.Tree.forms.question.write({ level: 'page', page: 'r#0a' }),
  Keyring: () => linkMethods.Keyring.forms.question.write({ term: 1 }),
  Handover: ({ w }) => linkMethods.Handover.forms.question.write({ epoch: w.epoch }),
  Fence: ({ w, one }) => {
    const epoch = formatEpoch(2, one.cluster)
    const key = one.keys.signing.toString('base64')
    const lineage = [[w.epoch, 1] as const, [epoch, 1] as const]
    return linkMethods.Fence.forms.question.write({
      cluster: one.cluster,
      key,
      epoch,
      lineage,
      chain: [],
      addresses: [one.request.address],
      signers: [{ term: 'term', key }],
    })
  },
  Notify: () => linkMethods.Notify.forms.question.write({}),
}

async function asked({ w, one, north }: Scene, method: LinkMethod, body: Uint8Array) {
  w.clock.ms += 1000
  const from = method === 'Activate' ? 'north' : method === 'Fence' ? one.cluster : 'west'
  const { signing } = method === 'Activate' ? north.pair : one.pair
  const means = { signing, nonce: randomBytes(16), time: w.clock.ms }
  const call = signLinkCall(method, { set: w.set, from, lineage: [[w.epoch, 1]] }, body, means)
  const { statusCode: status, body: text } = await createLinkHandler(w.ports)({
    version: '2.0',
    rawPath: `/cloudauth.link.v1.LinkService/${method}`,
    headers: { 'content-type': 'application/proto', 'connect-protocol-version': '1' },
    requestContext: { http: { method: 'POST' }, domainName: 'east.example' },
    body: Buffer.from(toBinary(CallSchema, call)).toString('base64'),
    isBase64Encoded: true,
  })
  return { status, said: status === 200 ? '' : Buffer.from(text, 'base64').toString() }
}

/** All stored items, by place. */
const stored = ({ w }: Scene) =>
  new Map(w.stored.all().map(item => [`${item.pk}|${item.sk}`, JSON.stringify(item)]))
const changedIn = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter(place => before.get(place) !== after.get(place))

/** The items that an answered call may change: the caller's heartbeat, and for role changes further items. */
const changes: Partial<Record<LinkMethod, readonly string[] | 'roles'>> = {
  Heartbeat: ['secondary|west'],
  Activate: 'roles',
  Handover: 'roles',
  Fence: 'roles',
}

/** Expects a code for the sender's fault or for a repetition, and never an internal error. */
function expectAnswered({ status, said }: { status: number; said: string }) {
  expect([200, 400, 401, 403, 503], said).toContain(status)
  if (status === 503) expect(said).toMatch(/the keyring has no term \d+ yet/)
}

/** Characters of one item. */
const MOST_STORED = 3000

async function judge(
  of: Scene,
  method: LinkMethod,
  body: Uint8Array,
): Promise<'as before' | 'roles changed'> {
  const before = stored(of)
  const got = await asked(of, method, body)
  expectAnswered(got)
  const changed = changedIn(before, stored(of))
  for (const place of changed) expect(stored(of).get(place)?.length ?? 0).toBeLessThan(MOST_STORED)
  const may = got.status === 200 ? (changes[method] ?? []) : []
  if (may === 'roles') return 'roles changed'
  expect(changed.filter(place => !may.includes(place))).toEqual([])
  return 'as before'
}

describe.each(linkMethodNames)('the link method %s', method => {
  test('an unchanged request is answered, except a notice, whose caller is not a primary', async () => {
    const of = await scene()
    const { status, said } = await asked(of, method, questions[method](of))
    expect(status, said).toBe(method === 'Notify' ? 400 : 200)
  })

  test('a request with changed bytes is answered or refused without an internal error, and a refusal changes nothing', {
    timeout: 60_000,
  }, async () => {
    let of = await scene()
    await fc.assert(
      fc.asyncProperty(mutations, async all => {
        if ((await judge(of, method, mutated(questions[method](of), all))) === 'roles changed')
          of = await scene()
      }),
      { numRuns: RUNS },
    )
  })

  test('a request with 300 kB in any text field is refused', async () => {
    const of = await scene()
    const schema = file_link.messages.find(({ name }) => name === `${method}Request`)
    if (!schema) throw new Error(`${method} asks nothing`)
    for (const { scalar, fieldKind, localName, name } of schema.fields) {
      if (scalar !== 9 && scalar !== 12) continue
      const long = scalar === 9 ? 'x'.repeat(300_000) : new Uint8Array(300_000)
      const value = { [localName]: fieldKind === 'list' ? [long] : long }
      const body = Buffer.concat([questions[method](of), toBinary(schema, create(schema, value))])
      const before = stored(of)
      const { status, said } = await asked(of, method, body)
      expect([status, said], name).toEqual([400, expect.stringContaining(`${name} is longer than`)])
      expect(changedIn(before, stored(of)), name).toEqual([])
    }
  })

  test.each([2, 101, 5000, 200_000])(
    'a request with %d repeated elements is answered or refused',
    async times => {
      const of = await scene()
      const bytes = Buffer.from(questions[method](of))
      const most = Math.min(times, Math.floor(LONGEST / Math.max(1, bytes.length)))
      await judge(of, method, Buffer.concat(Array.from({ length: most }, () => bytes)))
    },
  )
})

test('an activation whose sealed part has changed bytes is refused or admits, and a refusal changes nothing', async () => {
  let of = await scene()
  await fc.assert(
    fc.asyncProperty(mutations, async all => {
      const { w, north } = of
      const inner = { ...activation(of), sealed: '', ...north.request, token: of.token }
      const keys = { signingKey: north.keys.signing, exchangeKey: north.keys.exchange }
      const bytes = mutated(linkMethods.Activate.forms.question.write({ ...inner, ...keys }), all).subarray(
        0,
        150_000,
      )
      const place = { purpose: 'activation', set: w.set } as const
      const sealed = sealBoxForKey(w.keys.exchange, place, bytes.toString('base64'), randomBytes)
      const body = linkMethods.Activate.forms.question.write({ ...activation(of), sealed })
      if ((await judge(of, 'Activate', body)) === 'roles changed') of = await scene()
    }),
    { numRuns: RUNS },
  )
})
