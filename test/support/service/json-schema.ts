/*
 * Compiles the part of JSON Schema that the OpenAPI document uses. Checks are strict: an object may only have
 * fields that its schema names, unless the schema allows additional fields.
 */

type Schema = Readonly<Record<string, unknown>>
type Check = (value: unknown, place: string) => string[]

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  integer: value => Number.isSafeInteger(value),
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
  array: value => Array.isArray(value),
  object: value => typeof value === 'object' && value !== null && !Array.isArray(value),
}

const KNOWN = new Set(
  '$ref allOf anyOf oneOf type enum const properties required additionalProperties items format pattern minLength description deprecated writeOnly'.split(
    ' ',
  ),
)

/** Compiles schemas of a document, each once. @param named schemas of the document's components */
export function compiler(named: Readonly<Record<string, Schema>>): (schema: Schema) => Check {
  const compiled = new Map<Schema, Check>()
  const compile = (schema: Schema): Check => {
    const before = compiled.get(schema)
    if (before) return before
    // a schema may contain itself
    let made: Check | undefined
    const check: Check = (value, place) => {
      made ??= checkOf(schema, named, compile)
      return made(value, place)
    }
    compiled.set(schema, check)
    return check
  }
  return compile
}

type Compile = (schema: Schema) => Check
type Named = Readonly<Record<string, Schema>>

function resolved(schema: Schema, named: Named): Schema {
  if (typeof schema['$ref'] !== 'string') return schema
  const found = named[schema['$ref'].replace('#/components/schemas/', '')]
  if (!found) throw new Error(`there is no ${schema['$ref']}`)
  return resolved(found, named)
}

/** Merges schemas that must all match into one object schema. */
function joined(schema: Schema, named: Named): Schema {
  const known = resolved(schema, named)
  if (!known['allOf']) return known
  const parts = (known['allOf'] as Schema[]).map(one => joined(one, named))
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(one => one['properties'] ?? {})),
    required: parts.flatMap(one => (one['required'] as string[] | undefined) ?? []),
    ...(parts.some(one => 'additionalProperties' in one) ? { additionalProperties: {} } : {}),
  }
}

function checkOf(given: Schema, named: Named, compile: Compile): Check {
  const schema = joined(given, named)
  const strange = Object.keys(schema).find(key => !KNOWN.has(key))
  if (strange) throw new Error(`what ${strange} means in a schema is not known here`)
  const choices = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined
  if (choices) return oneOf(choices.map(compile))
  const allowed = 'const' in schema ? [schema['const']] : (schema['enum'] as unknown[] | undefined)
  const wanted = [schema['type'] ?? []].flat() as string[]
  const inside = insideOf(schema, compile)
  return (value, place) => {
    if (allowed) return allowed.includes(value) ? [] : [`${place} is none of ${JSON.stringify(allowed)}`]
    if (wanted.length > 0 && !wanted.some(type => types[type]?.(value)))
      return [`${place} is not ${wanted.join(' or ')}`]
    if (schema['format'] === 'date-time' && typeof value === 'string' && !TIME.test(value))
      return [`${place} is no time`]
    return inside(value, place)
  }
}

/** Returns the faults of the alternative with the fewest faults, if no alternative matches. */
const oneOf =
  (checks: readonly Check[]): Check =>
  (value, place) => {
    const faults = checks.map(check => check(value, place))
    return faults.reduce((best, one) => (one.length < best.length ? one : best))
  }

function insideOf(schema: Schema, compile: Compile): Check {
  const items = schema['items'] ? compile(schema['items'] as Schema) : undefined
  if (items)
    return (value, place) =>
      Array.isArray(value) ? value.flatMap((one, index) => items(one, `${place}[${index}]`)) : []
  const { properties, additionalProperties, required = [] } = schema
  if (!properties && !additionalProperties) return () => []
  const fields = new Map(
    Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, one]) => [name, compile(one)]),
  )
  const others = additionalProperties ? compile(additionalProperties as Schema) : undefined
  return (value, place) => {
    if (!types['object']?.(value)) return []
    const missing = (required as string[]).filter(name => !Object.hasOwn(value as object, name))
    const found = Object.entries(value as object).flatMap(([name, one]) => {
      const check = fields.get(name) ?? others
      return check ? check(one, `${place}.${name}`) : [`${place}.${name} is not in the schema`]
    })
    return [...missing.map(name => `${place}.${name} is missing`), ...found]
  }
}
