import type { Endpoint } from '../api/endpoint.ts'
import { type ErrorCode, errorCodes } from '../api/errors.ts'
import type { JsonSchema } from '../values/shape.ts'
import {
  anyShape,
  enumShape,
  flagShape,
  intShape,
  mapShape,
  nullableShape,
  nullShape,
  objectShape,
  textArrayShape,
  textShape,
  timeShape,
  withDescription,
} from '../values/shape.ts'
import type { AnswerDescription } from './answers/describe.ts'
import { exampleOfSchema } from './openapi-examples.ts'

type Json = Record<string, unknown>

const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
const answered = (name: string) => ({ $ref: `#/components/responses/${name}` })

const Auth = objectShape(
  {
    client_token: textShape,
    accessor: withDescription(textShape, 'empty for a batch token'),
    policies: textArrayShape,
    metadata: nullableShape(mapShape(textShape)),
    lease_duration: withDescription(intShape, 'seconds'),
    renewable: flagShape,
    entity_id: textShape,
    token_type: enumShape('service', 'batch'),
    orphan: flagShape,
    mfa_requirement: nullShape,
    num_uses: intShape,
  },
  { token_policies: textArrayShape, identity_policies: textArrayShape },
)

const WrapInfo = objectShape(
  {
    token: textShape,
    accessor: textShape,
    ttl: withDescription(intShape, 'seconds'),
    creation_time: timeShape,
    creation_path: textShape,
  },
  { wrapped_accessor: textShape },
)

const Envelope = objectShape({
  request_id: textShape,
  lease_id: textShape,
  renewable: flagShape,
  lease_duration: intShape,
  wrap_info: nullableShape(refTo('WrapInfo')),
  warnings: nullableShape(textArrayShape),
  auth: nullableShape(refTo('Auth')),
  mount_type: textShape,
})

const enveloped = (fields: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  allOf: [refTo('Envelope'), objectShape(fields)],
})

const Errors = withDescription(
  objectShape({ errors: textArrayShape }),
  `The header X-Error-Code names one of: ${(Object.keys(errorCodes) as ErrorCode[]).map(code => `${code} (${errorCodes[code].status})`).join(', ')}.`,
)

/** Schemas that responses of several operations use. */
export const commonSchemas: Readonly<Record<string, JsonSchema>> = {
  Envelope,
  Auth,
  WrapInfo,
  Errors,
  DoneWithWarnings: enveloped({ data: nullShape, warnings: textArrayShape }),
  WrappedAnswer: enveloped({ data: nullShape, wrap_info: refTo('WrapInfo') }),
  AuthAnswer: enveloped({ data: nullShape, auth: refTo('Auth') }),
  Names: enveloped({ data: objectShape({ keys: textArrayShape }) }),
}

/** Headers of error responses. */
export const errorHeaders = {
  'X-Error-Code': {
    description: 'Error code',
    schema: { type: 'string', enum: Object.keys(errorCodes) },
  },
  'Retry-After': {
    description: 'Seconds to wait before the client repeats the request',
    schema: { type: 'integer' },
  },
}

const refusal = (description: string, message: string): Json => ({
  description,
  headers: Object.fromEntries(
    Object.keys(errorHeaders).map(name => [name, { $ref: `#/components/headers/${name}` }]),
  ),
  content: {
    'application/json': {
      schema: refTo('Errors'),
      example: { errors: message === '' ? [] : [message] },
    },
  },
})

/** Error responses, and responses without content of their own. */
export const commonResponses: Readonly<Record<string, Json>> = {
  Done: { description: 'Done' },
  DoneWithWarnings: {
    description: 'Done, with warnings',
    content: contentOf(refTo('DoneWithWarnings'), commonSchemas),
  },
  Started: {
    description: 'Started; the warnings describe the running work',
    content: contentOf(refTo('DoneWithWarnings'), commonSchemas),
  },
  Invalid: refusal(
    'The request is malformed, or a parameter has an invalid value',
    'Field validation failed: token_ttl must be a duration',
  ),
  Denied: refusal('The caller lacks the permission', 'permission denied'),
  Absent: refusal('The path or the object does not exist', ''),
  TooLarge: refusal('The body of the request is too large', 'the body is too large'),
  UnsupportedMediaType: refusal('The body of the request is not JSON', 'the body must be JSON'),
  TooMany: refusal('Too many requests', 'too many requests'),
  Refused: refusal('The server refuses the request for another reason', 'unsupported operation'),
  Failed: refusal('The server failed, or is busy', 'internal error'),
}

function contentOf(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): Json {
  return { 'application/json': { schema, example: exampleOfSchema(schema, schemas) } }
}

const hasNames = (row: Endpoint): boolean =>
  /:/.test(row.path) || row.licence !== undefined || row.answers === 'keys'

/** Returns the error responses of a row. */
const refusals = (row: Endpoint): Json => ({
  400: answered('Invalid'),
  403: answered('Denied'),
  ...(hasNames(row) ? { 404: answered('Absent') } : {}),
  ...(row.method === 'POST' ? { 413: answered('TooLarge'), 415: answered('UnsupportedMediaType') } : {}),
  429: answered('TooMany'),
  '4XX': answered('Refused'),
  '5XX': answered('Failed'),
})

/** Returns the response schema of an operation; undefined if a common schema applies. */
function ownBody(
  { answers: kind, mirrored }: Endpoint,
  { shape, wrapped, body }: AnswerDescription,
): JsonSchema | undefined {
  if (body) return body
  if (kind === 'plain') return shape
  if (kind === 'keys')
    return shape
      ? enveloped({ data: objectShape({ keys: textArrayShape, key_info: mapShape(shape) }) })
      : undefined
  if (kind !== 'data' || !shape) return undefined
  if (wrapped === 'always') return refTo('WrappedAnswer')
  const answer = mirrored ? mirroredBody(shape) : enveloped({ data: shape })
  return wrapped ? { anyOf: [refTo('WrappedAnswer'), answer] } : answer
}

/** Adds the data that is repeated outside `data` for older clients. The schema still allows unknown names. */
function mirroredBody(shape: JsonSchema): JsonSchema {
  const whole = objectShape({ data: shape })
  if (shape['additionalProperties'])
    return { allOf: [refTo('Envelope'), { ...whole, additionalProperties: anyShape }] }
  return shape['anyOf']
    ? { anyOf: (shape['anyOf'] as JsonSchema[]).map(mirroredBody) }
    : { allOf: [refTo('Envelope'), whole, shape] }
}

const common: Partial<Record<Endpoint['answers'], string>> = { keys: 'Names', auth: 'AuthAnswer' }

const descriptions: Readonly<Record<Endpoint['answers'], string>> = {
  nothing: 'Done',
  data: 'The envelope, with `data`',
  keys: 'The envelope, with `data.keys`; 404 when there are none',
  auth: 'The envelope, with `auth`',
  accepted: '',
  plain: 'An object without envelope',
  refused: '',
}

/** Returns a type name: `readRole` becomes `ReadRoleAnswer`. */
const typeName = (id: string): string => `${id.slice(0, 1).toUpperCase()}${id.slice(1)}Answer`

/** Returns the responses of an operation by status. The function adds named schemas to `schemas`. */
export function buildOpenApiResponses(
  row: Endpoint,
  told: AnswerDescription,
  schemas: Record<string, JsonSchema>,
): Json {
  const own = ownBody(row, told)
  const name = typeName(told.id)
  if (own) schemas[name] = hoisted(own, schemas)
  const schema = own ? refTo(name) : refTo(common[row.answers] ?? 'DoneWithWarnings')
  // if nothing is found, a warning comes without data
  const answer = told.mayBeEmpty ? { anyOf: [schema, refTo('DoneWithWarnings')] } : schema
  const success = { description: descriptions[row.answers], content: contentOf(answer, schemas) }
  const done = { 200: answered('DoneWithWarnings'), 204: answered('Done') }
  if (row.answers === 'nothing') return { ...done, ...refusals(row) }
  if (row.answers === 'accepted')
    return { 202: answered('Started'), 200: answered('DoneWithWarnings'), ...refusals(row) }
  return {
    200: success,
    ...(told.mayBeEmpty ? { 204: answered('Done') } : {}),
    ...(row.head ? byOverride(success, schema, schemas) : {}),
    ...refusals(row),
    ...(row.head ? { '5XX': { ...success, description: 'The cluster serves no clients' } } : {}),
  }
}

/** Returns the responses of health, which has a status per situation that clients may override. */
const byOverride = (
  success: Json,
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
): Json => ({
  472: { ...success, description: 'A DR secondary' },
  default: {
    description: 'The status that the request’s parameters choose, or a refusal',
    content: contentOf({ anyOf: [schema, refTo('Errors')] }, schemas),
  },
})

/** Moves schemas with a title to the named schemas and refers to them. */
function hoisted(schema: JsonSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'properties') return [key, each(value as Record<string, JsonSchema>, schemas)]
      if (key === 'items' || key === 'additionalProperties')
        return [key, hoisted(value as JsonSchema, schemas)]
      if (key === 'anyOf' || key === 'allOf')
        return [key, (value as JsonSchema[]).map(one => hoisted(one, schemas))]
      return [key, value]
    }),
  )
  const { title, ...rest } = inner
  if (typeof title !== 'string') return inner
  schemas[title] = rest
  return refTo(title)
}

const each = (shapes: Readonly<Record<string, JsonSchema>>, schemas: Record<string, JsonSchema>) =>
  Object.fromEntries(Object.entries(shapes).map(([name, one]) => [name, hoisted(one, schemas)]))
