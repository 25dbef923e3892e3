import { accessText, type Endpoint, type Group, needsNoHeader } from '../api/endpoint.ts'
import { type Code, errorCodes } from '../api/errors.ts'
import type { Field, Fields } from '../api/fields.ts'
import { defined } from '../values/defined.ts'

type Json = Record<string, unknown>

/** The interface as an OpenAPI 3.1 document, written from the endpoint table. */
export const openApi = (groups: readonly Group[], version: string): Json => ({
  openapi: '3.1.0',
  info: {
    title: 'cloud-auth',
    version,
    description:
      'PUT is the same as POST. LIST is `GET ?list=true`; where the front end lets it through, the verb LIST works too. Every answer but the plain ones comes in the envelope `Envelope`.',
  },
  servers: [{ url: '{base_url}', variables: { base_url: { default: 'https://cloud-auth.example.com/v1' } } }],
  security: [{ token: [] }, { bearer: [] }],
  paths: pathsOf(groups),
  components: {
    securitySchemes: {
      token: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' },
      bearer: { type: 'http', scheme: 'bearer' },
    },
    schemas: { Envelope, Auth, Errors },
  },
})

function pathsOf(groups: readonly Group[]): Json {
  const paths: Record<string, Json> = {}
  for (const group of groups) {
    for (const row of group.endpoints) {
      addPath(paths, row, row.path, group.name, false)
      if (row.also) addPath(paths, row, row.also, group.name, false)
      if (row.formerly) addPath(paths, row, row.formerly, group.name, true)
    }
  }
  return paths
}

const verbs = { POST: 'post', GET: 'get', LIST: 'get', DELETE: 'delete' } as const

function addPath(
  paths: Record<string, Json>,
  row: Endpoint,
  path: string,
  tag: string,
  deprecated: boolean,
): void {
  const place = path.replace(/:(\w+)/g, '{$1}')
  const verb = verbs[row.method]
  paths[place] ??= {}
  const known = paths[place][verb] as Json | undefined
  paths[place][verb] = known ? both(known, row) : operation(row, path, tag, deprecated)
}

/** A path that can be read as well as listed: one operation of OpenAPI, told apart by its query. */
const both = (known: Json, row: Endpoint): Json => ({
  ...known,
  description: `With list=true: ${row.summary}`,
  parameters: [
    ...(known['parameters'] as unknown[]),
    ...(row.method === 'LIST' ? [listFlag(false), ...queryOf(row.fields)] : []),
  ],
})

function operation(row: Endpoint, path: string, tag: string, deprecated: boolean): Json {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const body = row.method === 'POST' && (Object.keys(row.fields).length > 0 || row.freeForm)
  return defined({
    tags: [tag],
    summary: row.summary,
    description: accessText(row),
    deprecated: deprecated || undefined,
    security: needsNoHeader(row) ? [] : undefined,
    parameters: [
      ...inPath,
      ...(row.method === 'LIST' ? [listFlag(true)] : []),
      ...(row.method === 'POST' ? [] : queryOf(row.fields)),
    ],
    requestBody: body ? { content: { 'application/json': { schema: bodyOf(row.fields) } } } : undefined,
    responses: { ...successOf(row), default: { description: 'Refused or failed', content: errorContent } },
  })
}

const listFlag = (required: boolean) => ({ name: 'list', in: 'query', required, schema: { type: 'boolean' } })

const queryOf = (fields: Fields) =>
  Object.entries(fields).map(([name, field]) => ({
    name,
    in: 'query',
    description: field.doc,
    schema: field.schema,
  }))

const bodyOf = (fields: Fields): Json => {
  const required = Object.entries(fields).flatMap(([name, field]) => (field.required ? [name] : []))
  return defined({
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).flatMap(propertiesOf)),
    required: required.length > 0 ? required : undefined,
  })
}

const propertiesOf = ([name, field]: [string, Field<unknown>]): [string, Json][] => {
  const shown = defined({
    ...field.schema,
    description: field.doc,
    writeOnly: field.secret || undefined,
    deprecated: field.now ? true : undefined,
  })
  return field.formerly
    ? [
        [name, shown],
        [field.formerly, { ...shown, deprecated: true }],
      ]
    : [[name, shown]]
}

const successes: Record<Endpoint['answers'], [status: number, description: string]> = {
  nothing: [204, 'Done; 200 with the envelope when there are warnings'],
  data: [200, 'The envelope, with `data`'],
  keys: [200, 'The envelope, with `data.keys`; 404 when there are none'],
  auth: [200, 'The envelope, with `auth`'],
  accepted: [202, 'Started; the warnings say what happens'],
  plain: [200, 'An object without envelope'],
}

function successOf({ answers: kind }: Endpoint): Json {
  const [status, description] = successes[kind]
  if (kind === 'nothing') return { [status]: { description } }
  const schema = kind === 'plain' ? { type: 'object' } : { $ref: '#/components/schemas/Envelope' }
  return { [status]: { description, content: { 'application/json': { schema } } } }
}

const errorContent = { 'application/json': { schema: { $ref: '#/components/schemas/Errors' } } }
const nullable = (schema: Json): Json => ({ oneOf: [schema, { type: 'null' }] })
const texts = { type: 'array', items: { type: 'string' } }

const Envelope: Json = {
  type: 'object',
  properties: {
    request_id: { type: 'string' },
    lease_id: { type: 'string' },
    renewable: { type: 'boolean' },
    lease_duration: { type: 'integer' },
    data: nullable({ type: 'object' }),
    wrap_info: nullable({ type: 'object' }),
    warnings: nullable(texts),
    auth: nullable({ $ref: '#/components/schemas/Auth' }),
    mount_type: { type: 'string' },
  },
}

const Auth: Json = {
  type: 'object',
  properties: {
    client_token: { type: 'string' },
    accessor: { type: 'string', description: 'empty for a batch token' },
    policies: texts,
    token_policies: texts,
    identity_policies: texts,
    metadata: nullable({ type: 'object', additionalProperties: { type: 'string' } }),
    lease_duration: { type: 'integer', description: 'seconds' },
    renewable: { type: 'boolean' },
    entity_id: { type: 'string' },
    token_type: { enum: ['service', 'batch'] },
    orphan: { type: 'boolean' },
    num_uses: { type: 'integer' },
  },
}

const Errors: Json = {
  type: 'object',
  required: ['errors'],
  properties: { errors: texts },
  description: `The header X-Error-Code names one of: ${(Object.keys(errorCodes) as Code[]).map(code => `${code} (${errorCodes[code].status})`).join(', ')}.`,
}
