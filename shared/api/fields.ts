import { parseDuration } from '../values/duration.ts'
import { isObject } from '../values/json.ts'
import { lowerAscii } from '../values/names.ts'
import type { Schema } from '../values/shape.ts'

/** A named parameter of an endpoint: how lenient clients may write it, and what it becomes. */
export interface Field<T> {
  doc: string
  schema: Schema
  /** @throws BadValue when the raw JSON value cannot be read as this kind */
  read: (raw: unknown) => T | undefined
  /** an older name that is accepted too */
  formerly?: string
  /** this field is deprecated: the one that took its place */
  replacedBy?: string
  /** What policy rules compare, where values that differ as texts are stored, or count, as the same one. */
  counts?(value: T): unknown
  /** the value must not appear in logs: the audit log keeps its HMAC */
  secret?: true
  /** the field must be there and not empty */
  required?: true
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** What a request supplied: a key is there only when the caller sent it. @see docs/spec/transport.md#values */
export type Supplied<F extends Fields> = {
  readonly [K in keyof F]?: F[K] extends Field<infer T> ? T : never
}

/** A value of the wrong kind. Carries no value: secrets must not travel in messages. */
export class BadValue extends Error {}

const bad = (expected: string): never => {
  throw new BadValue(expected)
}

type Options<T> = Pick<Field<T>, 'formerly' | 'replacedBy' | 'counts' | 'secret' | 'required'>

const kind =
  <T>(schema: Schema, read: (raw: unknown) => T | undefined) =>
  (doc: string, options: Options<T> = {}): Field<T> => ({ doc, schema, read, ...options })

function readText(raw: unknown): string {
  if (typeof raw === 'string') return raw
  if (typeof raw === 'number') return String(raw)
  if (typeof raw === 'boolean') return raw ? '1' : '0'
  return raw === null ? '' : bad('a string')
}

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

/** A boolean word; undefined for every other text. @see docs/spec/transport.md#words-of-booleans */
export const readFlag = (word: string): boolean | undefined =>
  TRUE.includes(word) ? true : FALSE.includes(word) ? false : undefined

function readBool(raw: unknown): boolean {
  if (typeof raw === 'boolean') return raw
  if (raw === null || raw === '') return false
  const word = typeof raw === 'number' || typeof raw === 'string' ? readFlag(String(raw)) : undefined
  return word ?? bad('a boolean')
}

const INTEGER = /^[+-]?(\d+|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/

function readInt(raw: unknown): number {
  if (raw === null || raw === '') return 0
  if (typeof raw === 'boolean') return raw ? 1 : 0
  const text = typeof raw === 'string' && INTEGER.test(raw) ? raw : undefined
  const value = typeof raw === 'number' ? raw : text === undefined ? Number.NaN : signed(text)
  return Number.isSafeInteger(value) ? value : bad('an integer')
}

const signed = (text: string): number =>
  text.startsWith('-') ? -Number(text.slice(1)) : Number(text.replace(/^\+/, ''))

function readList(raw: unknown): string[] {
  if (raw === null) return []
  const items = Array.isArray(raw) ? raw : typeof raw === 'string' ? raw.split(',') : [raw]
  return items.map(readItem).filter(item => item !== '')
}

/** The same, but what is empty in an array counts: an instance may have a tag without value. */
const readValues = (raw: unknown): string[] =>
  Array.isArray(raw) ? raw.flatMap(one => (one === '' ? [''] : readList([one]))) : readList(raw)

const readItem = (raw: unknown): string =>
  typeof raw === 'string' || typeof raw === 'number' ? String(raw).trim() : bad('a list of strings')

function readDuration(raw: unknown): number | undefined {
  if (raw === null) return undefined
  const text = typeof raw === 'string' ? raw.trim() : typeof raw === 'number' ? String(raw) : ''
  if (typeof raw !== 'string' && typeof raw !== 'number') bad('a duration')
  return parseDuration(text) ?? bad('a duration')
}

/** Names that the storage cannot keep. */
const UNSTORABLE = ['', '__proto__']

/** A reader of objects whose values one reader takes. */
const readMapOf =
  <T>(expected: string, readValue: (raw: unknown) => T) =>
  (raw: unknown): Readonly<Record<string, T>> => {
    if (raw === null) return {}
    if (!isObject(raw)) return bad(expected)
    if (Object.keys(raw).some(name => UNSTORABLE.includes(name)))
      return bad(`${expected}, with names other than the empty one and __proto__`)
    return Object.assign(
      Object.create(null),
      Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, readValue(value)])),
    )
  }

const listSchema: Schema = { oneOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] }

/** Strings; numbers and booleans become their text, null the empty string. */
export const text = kind({ type: 'string' }, readText)
/** The same in ASCII lower case. */
export const lowerText = kind({ type: 'string' }, raw => lowerAscii(readText(raw)))
/** `true`, `"1"`, `0` and their like; the empty string and null are false. */
export const bool = kind({ type: 'boolean' }, readBool)
/** Safe integers, also as decimal, hexadecimal, octal or binary text; the empty string and null are 0. */
export const int = kind({ type: 'integer' }, readInt)
/** A JSON array, or a text split at commas; items trimmed, empty ones dropped. */
export const list = kind(listSchema, readList)
/** Seconds, from a number, Go's notation or days; null counts as not supplied. */
export const duration = kind({ oneOf: [{ type: 'integer' }, { type: 'string' }] }, readDuration)
/** An object of strings. */
export const map = kind(
  { type: 'object', additionalProperties: { type: 'string' } },
  readMapOf('an object of strings', readText),
)
/** An object of lists, each as lenient as a list; the empty text is a value where it stands in an array. */
export const mapOfLists = kind(
  { type: 'object', additionalProperties: listSchema },
  readMapOf('an object of lists of strings', readValues),
)
/**
 * A parameter of the original that does not exist here: what stands for "not used" is taken and forgotten,
 * everything else is refused, because ignoring it would not do what was asked for.
 */
export const unsupported = kind<never>({}, raw =>
  isNeutral(raw) ? undefined : bad('empty: this service does not support it'),
)

const NEUTRAL: readonly unknown[] = [null, '', false, 0, '0', '0s', 'false']

const isNeutral = (raw: unknown): boolean =>
  NEUTRAL.includes(raw) ||
  (Array.isArray(raw) ? raw.every(isNeutral) : isObject(raw) && Object.values(raw).every(isNeutral))

/** Any JSON value, read by the endpoint itself. */
export const anything = kind<unknown>({}, raw => raw)

/** The outcome of reading a body or query against a table of fields. */
export interface Parsed<F extends Fields> {
  parameters: Supplied<F>
  /** names that the endpoint does not know */
  unknown: string[]
}

/**
 * Reads every supplied field; the rest of the request is not looked at.
 * @throws FieldFault naming the field, never its value.
 * @see docs/spec/transport.md#faulty-values (CVE-2025-4166)
 */
export function readFields<F extends Fields>(fields: F, raw: Readonly<Record<string, unknown>>): Parsed<F> {
  const given: Record<string, unknown> = Object.create(null)
  const known = new Set<string>()
  for (const [name, field] of Object.entries(fields)) {
    const source = [name, field.formerly].find(key => key !== undefined && Object.hasOwn(raw, key))
    known.add(name).add(field.formerly ?? name)
    const value = source === undefined ? undefined : readOne(field, source, raw[source])
    if (value !== undefined) given[name] = value
    if (field.required && (value === undefined || value === '')) throw new FieldFault(`${name} is required`)
  }
  return {
    parameters: given as Supplied<F>,
    unknown: Object.keys(raw).filter(key => !known.has(key)),
  }
}

/**
 * What is one parameter: all names it goes by, the given one first, and a reader of what would be stored. A name
 * that is no field's goes by no other, and its values are taken as they are.
 */
export function parameterOf(
  fields: Fields,
  given: string,
): { names: readonly string[]; read: (raw: unknown) => unknown } {
  const all = Object.entries(fields)
  const own = all.find(([name, field]) => name === given || field.formerly === given)
  if (!own) return { names: [given], read: raw => raw }
  const [name, field] = own
  const current = field.replacedBy ?? name
  const family = all.filter(([one, { replacedBy: now }]) => one === current || now === current)
  const names = family.flatMap(([one, { formerly }]) => [one, formerly ?? one])
  return {
    names: [...new Set([given, ...names])],
    read: raw => {
      const value = field.read(raw)
      return value === undefined ? undefined : (field.counts?.(value) ?? value)
    },
  }
}

/** A field that is missing or of the wrong kind; the message names it. */
export class FieldFault extends Error {}

function readOne(field: Field<unknown>, name: string, raw: unknown): unknown {
  try {
    return field.read(raw)
  } catch (error) {
    if (!(error instanceof BadValue)) throw error
    throw new FieldFault(`Field validation failed: ${name} must be ${error.message}`)
  }
}
