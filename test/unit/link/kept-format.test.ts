import { readdirSync, readFileSync } from 'node:fs'
import { createFileRegistry, type DescFile, type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { decodeEntryBody, type EntryChange } from '../../../shared/journal/journal-entry.ts'
import {
  addTreeBucket,
  computeItemLeaf,
  hashTreePage,
  hashTreeRoot,
  hashWholeTreeRoot,
  type LeafLimbs,
} from '../../../shared/journal/tree.ts'
import { readActivationClaims } from '../../../shared/link/activation-token.ts'
import { isLinkCallSignedBy, readCallEnvelope, verifyLinkOutcome } from '../../../shared/link/envelope.ts'
import { linkMethodNames, linkMethods } from '../../../shared/link/methods.ts'
import { LINK_FORMAT } from '../../../shared/link/source.ts'
import { isStatementSignedBy } from '../../../shared/link/statements.ts'
import type { MembershipStatement } from '../../../shared/model/link.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'
import type { LinkMethod } from '../../../shared/wire/carry.ts'
import { AnswerSchema, CallSchema, file_link } from '../../../shared/wire/gen/link_pb.ts'

// Clusters of a set are upgraded one after the other, so a secondary may follow a primary of an earlier
// version. This folder keeps data of each earlier format. This version must understand the data, and earlier
// versions must understand this version's data.

interface Kept {
  interface: string
  key: string
  messages: Record<LinkMethod, Record<'question' | 'answer', string>>
  signed: { call: string; nonce: string; answer: string; refusal: string; statement: MembershipStatement }
  token: string
  journal: { body: string; changes: EntryChange[] }
  tree: { treeId: string; item: StoredItem; stored: StoredItem; page: string; root: string; whole: string }
}

const directory = `${checkoutRoot}test/vectors/formats`
const numbers = readdirSync(directory).flatMap(name => /^(\d+)\.json$/.exec(name)?.[1] ?? [])

test('stored vectors exist for every format of the link, including the present format', () => {
  expect(numbers.map(Number).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: LINK_FORMAT }, (_, index) => index + 1),
  )
})

/** Returns the fields and methods of an interface, one text for each. */
const fieldsOf = ({ messages, services }: DescFile): string[] => [
  ...messages.flatMap(({ name, fields }) =>
    fields.map(({ proto: { name: field, number, type, label, typeName } }) =>
      [name, field, number, type, label, typeName].join(' '),
    ),
  ),
  ...services.flatMap(({ methods: all }) =>
    all.map(({ proto: { name, inputType, outputType } }) => [name, inputType, outputType].join(' ')),
  ),
]

describe.each(numbers)('stored vectors of link format %s', number => {
  const kept = JSON.parse(readFileSync(`${directory}/${number}.json`, 'utf8')) as Kept
  const bytes = (text: string) => Buffer.from(text, 'base64')
  const file = fromBinary(FileDescriptorProtoSchema, bytes(kept.interface))
  const registry = createFileRegistry(file, () => undefined)
  /** Returns the fields that the earlier version reads from bytes; it drops unknown fields. */
  const asThen = (message: string, content: Uint8Array) => {
    const schema = registry.getMessage(`cloudauth.link.v1.${message}`) as DescMessage
    return toJson(schema, fromBinary(schema, content), { alwaysEmitImplicit: true })
  }

  test('every stored message and field has the same name, number and type today', () => {
    const [then] = [...registry.files]
    expect(fieldsOf(file_link)).toEqual(expect.arrayContaining(fieldsOf(then as DescFile)))
  })

  const its = linkMethodNames.filter(method => method in kept.messages)
  test('this version has every method of the format, and the present format has all methods', () => {
    if (Number(number) === LINK_FORMAT) expect(its).toEqual(linkMethodNames)
    expect(its.length).toBeGreaterThan(0)
  })

  test.each(
    its.flatMap(method => [
      [method, 'question', `${method}Request`] as const,
      [method, 'answer', `${method}Response`] as const,
    ]),
  )("%s, %s: this version and the stored format read each other's messages", (method, part, message) => {
    const before = bytes(kept.messages[method][part])
    const form = linkMethods[method].forms[part] as {
      read: (from: Uint8Array) => unknown
      write: (value: unknown) => Uint8Array
    }
    expect(asThen(message, form.write(form.read(before)))).toEqual(asThen(message, before))
  })

  test('signatures of the format are valid', () => {
    const { signed } = kept
    const [key, nonce] = [bytes(kept.key), bytes(signed.nonce)]
    const call = fromBinary(CallSchema, bytes(signed.call))
    const envelope = readCallEnvelope(call)
    expect(envelope && isLinkCallSignedBy(key, 'Heartbeat', envelope, call.body)).toBe(true)
    const outcome = (answer: string) =>
      verifyLinkOutcome(key, 'Heartbeat', nonce, fromBinary(AnswerSchema, bytes(answer)))
    expect(outcome(signed.answer)).toMatchObject({ body: expect.anything() })
    expect(outcome(signed.refusal)).toEqual({
      kind: 'refusal',
      refusal: { code: 'permission_denied', text: 'revoked', addresses: ['https://east.example'] },
    })
    expect(isStatementSignedBy(key, signed.statement)).toBe(true)
  })

  test('activation tokens of the format have set, name, address and key', () => {
    expect(readActivationClaims(kept.token)).toMatchObject({
      addr: 'https://east.example',
      id: 'west',
      set: kept.signed.statement.set,
      primaryKey: bytes(kept.key).toString('base64url'),
    })
  })

  test('journal entries of the format are decoded', () => {
    const position = { epoch: '000003.0123456789ab', seq: 44 }
    expect(decodeEntryBody(bytes(kept.journal.body), position)).toEqual(kept.journal.changes)
  })

  test('this version computes the same leaves, buckets and hashes as the format', () => {
    const { treeId, item, stored, page, root: hash, whole } = kept.tree
    expect(computeItemLeaf(item)).toBe(kept.journal.changes[0]?.next?.leaf)
    expect(addTreeBucket(item, treeId)).toEqual(stored)
    const sums = new Map<string, LeafLimbs>([
      ['0a', [1n, 2n, 3n]],
      ['0b', [4n, 5n, 6n]],
    ])
    expect([hashTreePage(sums), hashTreeRoot(['a', 'b']), hashWholeTreeRoot('a', 'b')]).toEqual([
      page,
      hash,
      whole,
    ])
  })
})
