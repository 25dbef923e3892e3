import { create, type DescField, type DescMessage, toBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { MAX_EPOCH_LEAD } from '../../../shared/journal/position.ts'
import { readCallEnvelope } from '../../../shared/link/envelope.ts'
import { messageFieldBounds } from '../../../shared/link/forms.ts'
import { linkMethodNames, readMethodQuestion } from '../../../shared/link/methods.ts'
import type { LinkMethod } from '../../../shared/wire/carry.ts'
import { CallSchema, EnvelopeSchema, file_link } from '../../../shared/wire/gen/link_pb.ts'

// A member may send any message, so no field of a message may be stored or used beyond its bounds.

const messages = new Map(file_link.messages.map(one => [one.name, one]))
const questionOf = (method: LinkMethod): DescMessage => {
  const found = messages.get(`${method}Request`)
  if (!found) throw new Error(`${method} asks nothing`)
  return found
}

/** Reports whether a field is a number, whose only bound is the range of safe integers. */
const isNumber = ({ scalar }: DescField): boolean => scalar !== undefined && ![9, 12].includes(scalar)

/** Yields each message in which a single field, at any depth, exceeds its bound. */
function beyond(schema: DescMessage): [path: string, value: Record<string, unknown>][] {
  return schema.fields.flatMap((field): [string, Record<string, unknown>][] => {
    const { bytes = 0, most = 0 } = messageFieldBounds[field.localName] ?? {}
    const one = field.scalar === 12 ? new Uint8Array(bytes + 1) : 'x'.repeat(bytes + 1)
    const list = field.fieldKind === 'list'
    const inner = field.message ? beyond(field.message) : []
    const nested = inner.map(([path, value]): [string, Record<string, unknown>] => [
      `${field.name}.${path}`,
      { [field.localName]: list ? [value] : value },
    ])
    const any = field.message ? {} : field.scalar === 12 ? new Uint8Array() : ''
    const many: [string, Record<string, unknown>][] = list
      ? [[`${field.name} (count)`, { [field.localName]: Array.from({ length: most + 1 }, () => any) }]]
      : []
    const long: [string, Record<string, unknown>][] =
      isNumber(field) || field.message ? [] : [[field.name, { [field.localName]: list ? [one] : one }]]
    return [...nested, ...many, ...long]
  })
}

const named = (path: string): string => path.replace(' (count)', '').split('.').at(-1) ?? ''

test('every message field that is not a number has a size bound', () => {
  const free = ['code', 'text', 'body', 'diverged', 'trimmed']
  const all = [...messages.values()].flatMap(({ fields }) => fields)
  const without = all.filter(
    one =>
      !isNumber(one) &&
      (one.fieldKind === 'list' || !one.message) &&
      messageFieldBounds[one.localName] === undefined,
  )
  expect(without.map(one => one.localName).filter(one => !free.includes(one))).toEqual([])
})

describe.each(linkMethodNames)('the link message %s', method => {
  const schema = questionOf(method)
  const cases = beyond(schema)
  test(`${cases.length} fields that exceed their bounds are refused by name`, () => {
    for (const [path, value] of cases) {
      const body = toBinary(schema, create(schema, value))
      expect(() => readMethodQuestion(method, body), path).toThrow(
        expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(named(path)) }),
      )
    }
  })

  test('bytes that are not a message are refused', () => {
    expect(() => readMethodQuestion(method, Buffer.from('ffff', 'hex'))).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
  })
})

test('an envelope that exceeds its bounds is not a call', () => {
  const right = { nonce: new Uint8Array(16), signature: new Uint8Array(64) }
  const callOf = (more: Record<string, unknown>) =>
    create(CallSchema, { envelope: create(EnvelopeSchema, { ...right, ...more }) })
  expect(readCallEnvelope(callOf({}))).toBeDefined()
  for (const [path, value] of beyond(EnvelopeSchema))
    expect(readCallEnvelope(callOf(value)), path).toBeUndefined()
})

test('a lineage that skips more epochs than take-overs can skip is refused', () => {
  const schema = questionOf('Entries')
  const lineTo = (number: number) =>
    toBinary(
      schema,
      create(schema, {
        lineage: [1, number].map(one => ({
          epoch: `${String(one).padStart(6, '0')}.0123456789ab`,
          start: BigInt(one),
        })),
      }),
    )
  expect(readMethodQuestion('Entries', lineTo(1 + MAX_EPOCH_LEAD)).lineage).toHaveLength(2)
  expect(() => readMethodQuestion('Entries', lineTo(2 + MAX_EPOCH_LEAD))).toThrow(
    'skips more than 1000 epochs',
  )
})
