import type { Schema } from '../../api/fields.ts'

/** Fields of an object by name. */
type Shapes = Readonly<Record<string, Schema>>

export const aText: Schema = { type: 'string' }
export const anInt: Schema = { type: 'integer' }
export const aFlag: Schema = { type: 'boolean' }
export const none: Schema = { type: 'null' }
export const anyValue: Schema = {}
/** RFC 3339. */
export const aTime: Schema = { type: 'string', format: 'date-time' }
/** RFC 3339, or empty where there is none. */
export const timeOrEmpty: Schema = { type: 'string', description: 'a time, or empty' }

/** The same with what it means. */
export const saying = (schema: Schema, description: string): Schema => ({ ...schema, description })

export const words = (...allowed: readonly string[]): Schema => ({ type: 'string', enum: allowed })
export const always = (value: unknown): Schema => ({ const: value })
export const manyOf = (items: Schema): Schema => ({ type: 'array', items })
export const texts: Schema = manyOf(aText)
export const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values })
export const orNull = (schema: Schema): Schema =>
  typeof schema['type'] === 'string' && !('enum' in schema) && !('title' in schema)
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, none] }

/** An object of these fields, and of no others. */
export const object = (required: Shapes, optional: Shapes = {}): Schema => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
})

/** A shape that has a name of its own in the document. */
export const titled = (title: string, schema: Schema): Schema => ({ title, ...schema })

/** The shape of a value that stands for all others of its kind: what a table of fields keeps where nothing was said. */
export function like(value: unknown): Schema {
  if (Array.isArray(value)) return texts
  if (typeof value === 'boolean') return aFlag
  if (typeof value === 'number') return anInt
  return typeof value === 'string' ? aText : mapOf(texts)
}

/** What an operation answers where it succeeds, beside what its row says. */
export interface Told {
  /** the name of the operation, which generated clients call it by */
  id: string
  /** of rows that answer `data`: the data. `keys`: what stands beside each name. `plain`: the whole body */
  shape?: Schema
  /** the example of a request: a body that its fields take */
  sent?: Readonly<Record<string, unknown>>
  /** 204 is an answer, too: nothing was found */
  orNothing?: true
  /** the answer is wrapped, always or where nothing else was asked for */
  wrapped?: 'always' | 'usually'
  /** the body, where it is not what the row says */
  body?: Schema
}

/** What operations answer, by method and path of their rows. */
export type Answers = Readonly<Record<string, Told>>

export const told = (id: string, shape?: Schema, more: Omit<Told, 'id' | 'shape'> = {}): Told => ({
  id,
  ...(shape ? { shape } : {}),
  ...more,
})
