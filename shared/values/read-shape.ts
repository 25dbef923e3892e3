import { defined } from './defined.ts'
import { isObject } from './json.ts'
import type { JsonSchema, Shape } from './shape.ts'

/** Maximum number of reported faults, because the sender controls how many there are. */
const MOST_ODDITIES = 20

type Json = Readonly<Record<string, unknown>>
interface Described extends JsonSchema {
  properties?: Readonly<Record<string, Described>>
  required?: readonly string[]
  items?: Described
  additionalProperties?: Described
  anyOf?: readonly Described[]
}

/** The fields that match a shape. `odd`: the paths of missing, unknown and invalid fields. */
export interface ShapeRead<T> {
  fields: Partial<T>
  odd: readonly string[]
}

/**
 * Reads an object by its shape. Omits missing and invalid fields of the first level. Missing fields of deeper levels get a neutral
 * value: empty, 0 or false.
 */
export function readShape<T>(shape: Shape<T>, raw: unknown): ShapeRead<T> {
  const odd: string[] = []
  const note = (path: string, what: string): undefined =>
    void (odd.length < MOST_ODDITIES && odd.push(`${path} is ${what}`))

  const readFields = ({ properties = {}, required = [] }: Described, value: Json, prefix: string): Json => {
    const read = Object.entries(properties).map(([name, schema]): [string, unknown] => [
      name,
      Object.hasOwn(value, name) ? readValue(schema, value[name], prefix + name) : undefined,
    ])
    for (const name of required) if (!Object.hasOwn(value, name)) note(prefix + name, 'missing')
    return defined(Object.fromEntries(read))
  }
  const readValue = (schema: Described, value: unknown, path: string): unknown => {
    const { anyOf, items, properties, additionalProperties: values } = schema
    if (anyOf) {
      const fitting = anyOf.find(one => fits(one, value))
      return fitting ? readValue(fitting, value, path) : note(path, 'odd')
    }
    if (!fits(schema, value)) return note(path, 'odd')
    if (items && Array.isArray(value))
      return value
        .map((one, index) => readValue(items, one, `${path}[${index}]`))
        .filter(one => one !== undefined)
    if (!isObject(value)) return value
    if (properties) return { ...neutralFields(schema), ...readFields(schema, value, `${path}.`) }
    if (!values) return value
    const read = Object.entries(value).map(([name, one]) => [name, readValue(values, one, `${path}.${name}`)])
    return defined(Object.fromEntries(read))
  }

  const object = isObject(raw) ? raw : {}
  const fields = readFields(shape, object, '')
  const known = (shape as Described).properties ?? {}
  for (const name of Object.keys(object)) if (!Object.hasOwn(known, name)) note(name, 'unknown')
  return { fields: fields as Partial<T>, odd }
}

function fits({ type, enum: allowed, const: only }: JsonSchema, value: unknown): boolean {
  if (only !== undefined) return value === only
  if (Array.isArray(allowed)) return allowed.includes(value)
  return type === undefined || [type].flat().some(one => TYPES[String(one)]?.(value))
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  boolean: value => typeof value === 'boolean',
  integer: Number.isSafeInteger,
  null: value => value === null,
  array: Array.isArray,
  object: isObject,
}

const NEUTRAL: Json = { string: '', integer: 0, boolean: false, array: [] }
const neutralFields = ({ properties = {}, required = [] }: Described): Json =>
  Object.fromEntries(required.map(name => [name, neutralOf(properties[name] ?? {})]))
const neutralOf = (schema: Described): unknown => NEUTRAL[String(schema['type'])] ?? neutralFields(schema)
