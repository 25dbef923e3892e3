/** A JSON Schema for OpenAPI. */
export type JsonSchema = Readonly<Record<string, unknown>>

declare const described: unique symbol
/** A JSON Schema for values of `T`. */
export type Shape<T = unknown> = JsonSchema & { readonly [described]?: T }
/** The type of the values that a shape describes. */
export type ValueOf<S> = S extends { readonly [described]?: infer T } ? T : never

/** The fields of an object, by name. */
type Shapes = Readonly<Record<string, Shape>>
type Values<S extends Shapes> = { readonly [Name in keyof S]: ValueOf<S[Name]> }
type Flat<T> = { readonly [Name in keyof T]: T[Name] }
type Objects<R extends Shapes, O extends Shapes> = Flat<Values<R> & Partial<Values<O>>>

export const textShape: Shape<string> = { type: 'string' }
export const intShape: Shape<number> = { type: 'integer' }
export const flagShape: Shape<boolean> = { type: 'boolean' }
export const nullShape: Shape<null> = { type: 'null' }
export const anyShape: Shape = {}
/** An RFC 3339 time. */
export const timeShape: Shape<string> = { type: 'string', format: 'date-time' }
/** An RFC 3339 time, or an empty text. */
export const timeOrEmptyShape: Shape<string> = { type: 'string', description: 'a time, or empty' }

/** Adds a description to a shape. */
export const withDescription = <T>(schema: Shape<T>, description: string): Shape<T> => ({
  ...schema,
  description,
})

export const enumShape = <const W extends readonly string[]>(...allowed: W): Shape<W[number]> => ({
  type: 'string',
  enum: allowed,
})
export const constShape = <const T>(value: T): Shape<T> => ({ const: value })
export const arrayShape = <T>(items: Shape<T>): Shape<readonly T[]> => ({ type: 'array', items })
export const textArrayShape: Shape<readonly string[]> = arrayShape(textShape)
export const mapShape = <T>(values: Shape<T>): Shape<Readonly<Record<string, T>>> => ({
  type: 'object',
  additionalProperties: values,
})
export const nullableShape = <T>(schema: Shape<T>): Shape<T | null> =>
  typeof schema['type'] === 'string' && schema['enum'] === undefined && schema['title'] === undefined
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, nullShape] }
export const unionShape = <S extends readonly Shape[]>(...shapes: S): Shape<ValueOf<S[number]>> => ({
  anyOf: shapes,
})

/** Describes an object with exactly these fields. */
export const objectShape = <R extends Shapes, O extends Shapes = Readonly<Record<never, Shape>>>(
  required: R,
  optional?: O,
): Shape<Objects<R, O>> => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
})

/** Gives a shape a name in the OpenAPI document. */
export const withTitle = <T>(title: string, schema: Shape<T>): Shape<T> => ({ title, ...schema })
