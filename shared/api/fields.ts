import { parseDuration } from '../values/duration.ts'
import { isObject } from '../values/json.ts'
import { lowerAscii } from '../values/names.ts'
import type { JsonSchema } from '../values/shape.ts'

/** A parameter of an endpoint: the JSON values it accepts, and the value it is read as. */
export interface ParameterField<T> {
  doc: string
  schema: JsonSchema
  /** @throws BadValueError if the raw JSON value cannot be read */
  read: (raw: unknown) => T | undefined
  /** older name that is also accepted */
  formerly?: string
  /** set on a deprecated field: the name of its replacement */
  replacedBy?: string
  /** Returns the form that policy rules compare, because different texts may be stored as the same value. */
  counts?(value: T): unknown
  /** the value must not appear in logs; the audit log contains its HMAC */
  secret?: true
  /** the field must be present and not empty */
  required?: true
}

export type ParameterFields = Readonly<Record<string, ParameterField<unknown>>>

/** The parameters of a request. A key exists only if the client sent it. @see docs/spec/transport.md#values */
export type SuppliedParameters<F extends ParameterFields> = {
  readonly [K in keyof F]?: F[K] extends ParameterField<infer T> ? T : never
}

/** A value of the wrong type. The error's message never contains the value, which may be secret. */
export class BadValueError extends Error {}

const bad = (expected: string): never => {
  throw new BadValueError(expected)
}

type Options<T> = Pick<ParameterField<T>, 'formerly' | 'replacedBy' | 'counts' | 'secret' | 'required'>

const kind =
  <T>(schema: JsonSchema, read: (raw: unknown) => T | undefined) =>
  (doc: string, options: Options<T> = {}): ParameterField<T> => ({ doc, schema, read, ...options })

function readText(raw: unknown): string {
  if (typeof raw === 'string') return raw
  if (typeof raw === 'number') return String(raw)
  if (typeof raw === 'boolean') return raw ? '1' : '0'
  return raw === null ? '' : bad('a string')
}

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

/** Reads a boolean word; undefined for other texts. @see docs/spec/transport.md#words-of-booleans */
export const parseBoolean = (word: string): boolean | undefined =>
  TRUE.includes(word) ? true : FALSE.includes(word) ? false : undefined

function readBool(raw: unknown): boolean {
  if (typeof raw === 'boolean') return raw
  if (raw === null || raw === '') return false
  const word = typeof raw === 'number' || typeof raw === 'string' ? parseBoolean(String(raw)) : undefined
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

/** Reads a list like `readList`, but keeps empty strings in an array, because an instance tag may be empty. */
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

/** Names that cannot be stored. */
const UNSTORABLE = ['', '__proto__']

/** Builds a reader of objects from a reader of their values. */
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

const listSchema: JsonSchema = { oneOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] }

/** Strings. Numbers and booleans become text, null the empty string. */
export const textField = kind({ type: 'string' }, readText)
/** Strings in ASCII lower case. */
export const lowerTextField = kind({ type: 'string' }, raw => lowerAscii(readText(raw)))
/** Booleans: `true`, `"1"`, `0` and similar. The empty string and null are false. */
export const boolField = kind({ type: 'boolean' }, readBool)
/** Safe integers, also as decimal, hexadecimal, octal or binary text. The empty string and null are 0. */
export const intField = kind({ type: 'integer' }, readInt)
/** A JSON array, or a text split at commas. Items are trimmed and empty ones dropped. */
export const listField = kind(listSchema, readList)
/** Seconds, from a number, Go's notation or days. Null means not sent. */
export const durationField = kind({ oneOf: [{ type: 'integer' }, { type: 'string' }] }, readDuration)
/** An object of strings. */
export const textMapField = kind(
  { type: 'object', additionalProperties: { type: 'string' } },
  readMapOf('an object of strings', readText),
)
/** An object of lists. An empty string in an array is a value. */
export const listMapField = kind(
  { type: 'object', additionalProperties: listSchema },
  readMapOf('an object of lists of strings', readValues),
)
/**
 * A Vault parameter that this service does not support. Values that mean "not used" are ignored. Any other value is rejected,
 * because ignoring it would not do what the client asked for.
 */
export const unsupportedField = kind<never>({}, raw =>
  isNeutral(raw) ? undefined : bad('empty: this service does not support it'),
)

const NEUTRAL: readonly unknown[] = [null, '', false, 0, '0', '0s', 'false']

const isNeutral = (raw: unknown): boolean =>
  NEUTRAL.includes(raw) ||
  (Array.isArray(raw) ? raw.every(isNeutral) : isObject(raw) && Object.values(raw).every(isNeutral))

/** Any JSON value. The endpoint reads it itself. */
export const anyField = kind<unknown>({}, raw => raw)

/** The parsed body or query of a request. */
export interface ParsedParameters<F extends ParameterFields> {
  parameters: SuppliedParameters<F>
  /** names that the endpoint does not know */
  unknown: string[]
}

/**
 * Reads the fields of a request and ignores other parameters.
 * @throws ParameterError with the field's name, never its value
 * @see docs/spec/transport.md#faulty-values (CVE-2025-4166)
 */
export function readParameterFields<F extends ParameterFields>(
  fields: F,
  raw: Readonly<Record<string, unknown>>,
): ParsedParameters<F> {
  const given: Record<string, unknown> = Object.create(null)
  const known = new Set<string>()
  for (const [name, field] of Object.entries(fields)) {
    const source = [name, field.formerly].find(key => key !== undefined && Object.hasOwn(raw, key))
    known.add(name).add(field.formerly ?? name)
    const value = source === undefined ? undefined : readOne(field, source, raw[source])
    if (value !== undefined) given[name] = value
    if (field.required && (value === undefined || value === ''))
      throw new ParameterError(`${name} is required`)
  }
  return {
    parameters: given as SuppliedParameters<F>,
    unknown: Object.keys(raw).filter(key => !known.has(key)),
  }
}

/**
 * Returns all names of a parameter, the sent one first, and a reader of the value to compare. An unknown name has no other
 * names, and its values are compared as sent.
 */
export function findParameter(
  fields: ParameterFields,
  given: string,
): { names: readonly string[]; read: (raw: unknown) => unknown } {
  const all = Object.entries(fields)
  const own = all.find(([name, field]) => name === given || field.formerly === given)
  if (!own) return { names: [given], read: raw => raw }
  const [name, field] = own
  const current = field.replacedBy ?? name
  const family = all.filter(([one, { replacedBy }]) => one === current || replacedBy === current)
  const names = family.flatMap(([one, { formerly }]) => [one, formerly ?? one])
  return {
    names: [...new Set([given, ...names])],
    read: raw => {
      const value = field.read(raw)
      return value === undefined ? undefined : (field.counts?.(value) ?? value)
    },
  }
}

/** A missing or invalid field. The message contains its name. */
export class ParameterError extends Error {}

function readOne(field: ParameterField<unknown>, name: string, raw: unknown): unknown {
  try {
    return field.read(raw)
  } catch (error) {
    if (!(error instanceof BadValueError)) throw error
    throw new ParameterError(`Field validation failed: ${name} must be ${error.message}`)
  }
}
