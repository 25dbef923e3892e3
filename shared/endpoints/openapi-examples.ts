import type { JsonSchema } from '../values/shape.ts'

const UUID = '2dbd10f1-8528-4246-89e7-82b25b8aba63'

/** Example values by field name, if the schema alone is too vague. */
const byName: Readonly<Record<string, unknown>> = {
  request_id: UUID,
  role_id: UUID,
  entity_id: UUID,
  cluster_id: UUID,
  mount_type: 'cloud',
  accessor: '8609694a7cdc',
  client_token: 'hvs.CAESIJ',
  token: 'hvs.CAESIJ',
  policies: ['default', 'web'],
  token_policies: ['default', 'web'],
  lease_duration: 3600,
  ttl: 3600,
  keys: ['web', 'worker'],
  bound_region: ['us-east-1'],
  warnings: ['unknown parameters were ignored: colour'],
  policy: 'path "secret/*" { capabilities = ["read"] }',
  version: '1.19.5',
  api_address: 'https://cloud-auth.example.net',
  role: 'web',
  name: 'web',
}

/** Returns an example value of a schema. */
export function exampleOfSchema(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  name = '',
): unknown {
  const of = (one: JsonSchema, called = name) => exampleOfSchema(one, schemas, called)
  const { $ref, allOf, anyOf, oneOf, type, properties, items } = schema
  if (typeof $ref === 'string') return of(schemas[$ref.split('/').at(-1) ?? ''] ?? {})
  if (Object.hasOwn(schema, 'const')) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  if (Array.isArray(allOf)) return Object.assign({}, ...(allOf as JsonSchema[]).map(one => of(one)))
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return of(choices.find(isNull) ?? choices[0])
  if (Array.isArray(type)) return null
  if (type === 'null') return null
  const isUsable = type !== 'array' || isPlain(items)
  if (isUsable && Object.hasOwn(byName, name) && fits(byName[name], type)) return byName[name]
  if (properties)
    return Object.fromEntries(
      Object.entries(properties as Record<string, JsonSchema>)
        .filter(([field]) => (schema['required'] as string[] | undefined)?.includes(field))
        .map(([field, one]) => [field, of(one, field)]),
    )
  if (type === 'array') return isPlain(items) ? [] : [of(items as JsonSchema, '')]
  if (type === 'boolean') return false
  if (type === 'integer') return 0
  if (type === 'object' || type === undefined) return {}
  return schema['format'] === 'date-time' ? '2026-01-31T12:00:00Z' : ''
}

const isNull = (schema: JsonSchema): boolean => schema['type'] === 'null'
const isPlain = (items: unknown): boolean =>
  typeof (items as JsonSchema | undefined)?.['type'] === 'string' &&
  (items as JsonSchema)['type'] !== 'object'

const fits = (value: unknown, type: unknown): boolean =>
  Array.isArray(value)
    ? type === 'array'
    : typeof value === 'number'
      ? type === 'integer'
      : type === 'string' && typeof value === 'string'
