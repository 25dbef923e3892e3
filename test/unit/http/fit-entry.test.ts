import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fitAuditEntry, MAX_AUDIT_ENTRY_BYTES } from '../../../shared/http/fit-entry.ts'

const hmac = async (text: string) => `hmac-sha256:${String(text.length).padStart(64, '0')}`
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
const stand = (value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { length: Buffer.byteLength(text), hmac: `hmac-sha256:${String(text.length).padStart(64, '0')}` }
}

/** Generates values of all sizes and shapes, with names of all kinds. */
const long = fc
  .tuple(fc.constantFrom('x', 'ä', '€', '"', '\\', '\n', '😀', '\ud800'), fc.integer({ min: 0, max: 400 }))
  .map(([text, times]) => text.repeat(times))
const names = fc.oneof(
  fc.string({ maxLength: 5 }),
  long,
  fc.constantFrom('__proto__', 'constructor', 'length', 'hmac'),
)
const objectOf = (value: fc.Arbitrary<unknown>, most: number) =>
  fc.array(fc.tuple(names, value), { maxLength: most }).map(pairs => Object.fromEntries(pairs))
const flat = fc.oneof(long, fc.integer(), fc.constantFrom(null, true), fc.array(long, { maxLength: 8 }))
const object = objectOf(fc.oneof(flat, objectOf(fc.oneof(flat, objectOf(flat, 3)), 4)), 6)
const entries = fc
  .record({ data: object, path: long, metadata: object, answer: object, message: long })
  .map(({ data, path, metadata, answer, message }) => ({
    audit: 'response',
    time: '2027-01-15T08:00:00Z',
    request: { id: 'r-1', gateway_id: 'g-1', operation: 'write', path, data },
    auth: { accessor: 'acc-1', metadata },
    response: { data: answer },
    message,
  }))

describe('the size limit of audit entries', () => {
  test('an audit entry of any content is shrunk deterministically to the limit and keeps its caller', async () => {
    await fc.assert(
      fc.asyncProperty(entries, fc.constantFrom(1500, 2048, 4096), async (entry, largest) => {
        const small = await fitAuditEntry(entry, hmac, largest)
        expect(bytes(small)).toBeLessThanOrEqual(largest)
        expect(JSON.stringify(await fitAuditEntry(structuredClone(entry), hmac, largest))).toBe(
          JSON.stringify(small),
        )
        expect(small).toMatchObject({
          audit: 'response',
          time: entry.time,
          request: { id: 'r-1', gateway_id: 'g-1', operation: 'write' },
          auth: { accessor: 'acc-1' },
        })
      }),
      { numRuns: 200 },
    )
  })

  test('an audit entry within the limit stays unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async given => {
        // a value in the entry is larger than its replacement
        const entry = { ...given, message: 'm'.repeat(200) }
        expect(await fitAuditEntry(entry, hmac, bytes(entry))).toBe(entry)
        expect(await fitAuditEntry(entry, hmac, bytes(entry) - 1)).not.toEqual(entry)
      }),
    )
    const full = { message: 'x'.repeat(MAX_AUDIT_ENTRY_BYTES - bytes({ message: '' })) }
    expect(await fitAuditEntry(full, hmac)).toBe(full)
    expect(await fitAuditEntry({ message: `${full.message}x` }, hmac)).toEqual({
      message: stand(`${full.message}x`),
    })
  })

  test('an oversized entry has its largest values replaced by length and HMAC', async () => {
    const [small, middle, large] = ['s'.repeat(500), 'ä'.repeat(600), 'l'.repeat(3000)]
    const entry = { request: { data: { small, middle, large } } }
    expect(await fitAuditEntry(entry, hmac, bytes(entry) - 1)).toEqual({
      request: { data: { small, middle, large: stand(large) } },
    })
    expect(await fitAuditEntry(entry, hmac, 800)).toEqual({
      request: { data: { small, middle: stand(middle), large: stand(large) } },
    })
    expect(stand(middle).length).toBe(1200)
  })

  test('an object with too many names is replaced, inner objects first', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`name-${index}`, index]))
    const entry = { request: { id: 'r-1', data: { role: 'dev', meta: many } } }
    expect(await fitAuditEntry(entry, hmac, 1000)).toEqual({
      request: { id: 'r-1', data: { role: 'dev', meta: stand(many) } },
    })
  })

  test('a value named __proto__ is replaced like other values', async () => {
    const entry = JSON.parse(`{"request":{"data":{"__proto__":"${'x'.repeat(5000)}"}}}`)
    const small = await fitAuditEntry(entry, hmac, 1000)
    expect(JSON.stringify(small)).toBe(
      `{"request":{"data":{"__proto__":${JSON.stringify(stand('x'.repeat(5000)))}}}}`,
    )
  })
})
