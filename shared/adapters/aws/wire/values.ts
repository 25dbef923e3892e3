import { setOwnMember } from '../../../values/defined.ts'
import { unreadableAnswerError } from './service-error.ts'

/** A value in DynamoDB's form. */
export type WireValue = Readonly<Record<string, unknown>>

/** An item in DynamoDB's form. */
export type WireItem = Readonly<Record<string, WireValue>>

/** An item in plain values. */
export type PlainItem = Record<string, unknown>

/**
 * The form in which numbers are read. `rounded`: as doubles, and integers that do not fit as `bigint`. `exact`: all
 * numbers as `bigint`.
 */
export type NumberReading = 'rounded' | 'exact'

/**
 * Converts an item to DynamoDB's form. The conversion omits undefined members, and an instance of a class becomes a
 * map of its members.
 * @throws Error for a value that cannot be stored unchanged: a set, a function, a number beyond the precision of a
 * double
 */
export function toWireItem(item: object): WireItem {
  const made: Record<string, WireValue> = {}
  for (const name in item) {
    const value = (item as PlainItem)[name]
    if (value !== undefined) setOwnMember(made, name, wireValue(value))
  }
  return made
}

function wireValue(value: unknown): WireValue {
  switch (typeof value) {
    case 'string':
      return { S: value }
    case 'number':
      return { N: numberText(value) }
    case 'bigint':
      return { N: String(value) }
    case 'boolean':
      return { BOOL: value }
    case 'object':
      return objectValue(value)
    default:
      throw new Error(`a value of type ${typeof value} cannot be stored`)
  }
}

function objectValue(value: object | null): WireValue {
  if (value === null) return { NULL: true }
  if (Array.isArray(value)) return { L: value.filter(one => one !== undefined).map(wireValue) }
  if (value instanceof Uint8Array) return { B: base64(value) }
  if (value instanceof Set || value instanceof Map || ArrayBuffer.isView(value))
    throw new Error('a collection cannot be stored')
  return { M: toWireItem(value) }
}

function numberText(value: number): string {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error(`the number ${value} cannot be stored`)
  return String(value)
}

const base64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64')

/**
 * Converts an item in DynamoDB's answer.
 * @throws AwsServiceError for a malformed item
 */
export function fromWireItem(item: unknown, numbers: NumberReading): PlainItem {
  const plain: PlainItem = {}
  const object = checkAnswerObject(item)
  for (const name in object) setOwnMember(plain, name, plainValue(object[name], numbers))
  return plain
}

/**
 * Checks that a value of an answer is an object.
 * @throws AwsServiceError
 */
export function checkAnswerObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unreadableAnswerError('the answer lacks a required object')
  return value as Record<string, unknown>
}

function plainValue(wire: unknown, numbers: NumberReading): unknown {
  const object = checkAnswerObject(wire)
  let [type, types] = ['', 0]
  for (const name in object) {
    type = name
    types += 1
  }
  if (types !== 1) throw unreadableAnswerError('a value must have exactly one type')
  const value = object[type]
  switch (type) {
    case 'S':
      if (typeof value === 'string') return value
      break
    case 'N':
      if (typeof value === 'string' && NUMBER.test(value)) return numberOf(value, numbers)
      break
    case 'BOOL':
      if (typeof value === 'boolean') return value
      break
    case 'NULL':
      if (value === true) return null
      break
    case 'B':
      if (typeof value === 'string' && BASE64.test(value)) return new Uint8Array(Buffer.from(value, 'base64'))
      break
    case 'M':
      return fromWireItem(value, numbers)
    case 'L':
      if (Array.isArray(value)) return value.map(one => plainValue(one, numbers))
  }
  throw unreadableAnswerError('an attribute value does not fit its type')
}

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const INTEGER = /^-?\d+$/

function numberOf(text: string, numbers: NumberReading): number | bigint {
  const number = Number(text)
  if (numbers === 'rounded' && Math.abs(number) <= Number.MAX_SAFE_INTEGER) return number
  if (!INTEGER.test(text)) throw unreadableAnswerError('a number is not an integer')
  return BigInt(text)
}
