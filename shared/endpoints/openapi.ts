import {
  describeAccess,
  type Endpoint,
  type EndpointGroup,
  identifyingCapability,
  isOpenToAnonymous,
} from '../api/endpoint.ts'
import type { ParameterField, ParameterFields } from '../api/fields.ts'
import { pathParameterRule } from '../api/params.ts'
import { defined } from '../values/defined.ts'
import type { JsonSchema } from '../values/shape.ts'
import type { AnswerDescription, AnswerDescriptions } from './answers/describe.ts'
import { buildOpenApiResponses, commonResponses, commonSchemas, errorHeaders } from './openapi-answers.ts'

type Json = Record<string, unknown>

const DESCRIPTION = `PUT is the same as POST. LIST is \`GET ?list=true\`; the verb LIST works too if the front end accepts the verb.
Every answer but the plain ones comes in the envelope \`Envelope\`. A request with the header \`X-Vault-Wrap-TTL\` is answered by
\`WrappedAnswer\`, and one with the query \`help=1\` by a text: neither is a parameter here, so that every operation has one type.`

/** Descriptions of the groups. */
const tags: Readonly<Record<string, string>> = {
  login: 'Logins of AWS workloads',
  config: 'Configuration of a mount',
  'rotate-root': 'Rotation of the access key of a mount',
  roles: 'Permitted logins and the settings of their tokens',
  explain: 'Reasons why a login is refused',
  lists: 'Instances that have logged in, and role tags that are denied',
  tidy: 'Removal of expired entries',
  tokens: 'Tokens and token roles',
  renewal: 'Renewal of tokens',
  wrapping: 'Wrapped responses',
  identity: 'Entities and their aliases',
  mounts: 'Paths of the auth method',
  policies: 'Policies and capabilities',
  audit: 'The audit log',
  keys: 'The keyring',
  system: 'The state of the cluster',
  replication: 'Replication to other clusters',
  init: 'Initialisation',
  ceremony: 'DR operation tokens from recovery shares',
  'generate-root': 'Root tokens from recovery shares',
  rekey: 'Replacement of the recovery key',
}

/** Builds the OpenAPI 3.1 document from the endpoint table and the responses of its rows. */
export function buildOpenApi(
  groups: readonly EndpointGroup[],
  answers: AnswerDescriptions,
  version: string,
): Json {
  const schemas: Record<string, JsonSchema> = { ...commonSchemas }
  const { paths, ...shared } = shareRepeated(pathsOf(groups, answers, schemas))
  return {
    openapi: '3.1.0',
    info: {
      title: 'cloud-auth',
      version,
      description: DESCRIPTION.replaceAll('\n', ' '),
      contact: { name: 'Operator of the deployment' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{base_url}',
        description: 'A deployment',
        variables: { base_url: { default: 'https://cloud-auth.example.net/v1', description: 'Where it is' } },
      },
    ],
    tags: groups.map(({ name }) => ({ name, description: tags[name] ?? name })),
    security: [{ token: [] }, { bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'apiKey', in: 'header', name: 'X-Vault-Token', description: 'A token' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The same' },
      },
      schemas,
      headers: errorHeaders,
      ...shared,
    },
  }
}

/** The operations by path and verb. */
type Paths = Record<string, Record<string, Json>>

/** The parts of operations that `components` may contain. */
interface SharedParts {
  parameters: Record<string, Json>
  requestBodies: Record<string, Json>
  responses: Record<string, Json>
}

/** Moves parts that several operations share into `components`. */
function shareRepeated(paths: Paths): { paths: Paths } & SharedParts {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  mapParts(paths, (_kind, _name, part) => {
    const text = JSON.stringify(part)
    if (seen.has(text)) repeated.add(text)
    seen.add(text)
    return part
  })
  const shared: SharedParts = { parameters: {}, requestBodies: {}, responses: { ...commonResponses } }
  const references = new Map<string, Json>()
  const share = (kind: keyof SharedParts, wanted: string, part: Json): Json => {
    const text = JSON.stringify(part)
    if (!repeated.has(text)) return part
    const known = references.get(text)
    if (known) return known
    let name = wanted
    for (let count = 2; name in shared[kind]; count++) name = `${wanted}_${count}`
    shared[kind][name] = part
    const reference = { $ref: `#/components/${kind}/${name}` }
    references.set(text, reference)
    return reference
  }
  return { paths: mapParts(paths, share), ...shared }
}

/** Transforms the parameters, request bodies and responses of all operations. Responses without a named schema stay unchanged. */
function mapParts(paths: Paths, change: (kind: keyof SharedParts, name: string, part: Json) => Json): Paths {
  const answer = (part: Json): Json => {
    const { $ref } = (part as Partial<Content>).content?.['application/json'].schema ?? {}
    return typeof $ref === 'string' ? change('responses', $ref.split('/').at(-1) ?? '', part) : part
  }
  const inOperation = (operation: Json): Json => ({
    ...operation,
    parameters: (operation['parameters'] as Json[]).map(one =>
      change('parameters', String(one['name']), one),
    ),
    ...(operation['requestBody']
      ? {
          requestBody: change(
            'requestBodies',
            String(operation['operationId']),
            operation['requestBody'] as Json,
          ),
        }
      : {}),
    responses: mapValues(operation['responses'] as Record<string, Json>, answer),
  })
  return mapValues(paths, verbs => mapValues(verbs, inOperation))
}

const mapValues = <V>(of: Readonly<Record<string, V>>, change: (value: V) => V): Record<string, V> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]))

/** An operation of the document: a row at one of its paths. */
interface Place {
  row: Endpoint
  path: string
  tag: string
  id: string
  told: AnswerDescription
  deprecated?: true
}

/** Lists the operations. @throws Error for a row whose response is not described */
function placesOf(groups: readonly EndpointGroup[], answers: AnswerDescriptions): Place[] {
  return groups.flatMap(({ name: tag, endpoints }) =>
    endpoints
      .filter(row => row.answers !== 'refused')
      .flatMap((row): Place[] => {
        const told = answers[`${row.method} ${row.path}`]
        if (!told) throw new Error(`the endpoint ${row.method} ${row.path} has no declared answer`)
        const { id } = told
        const { path, also, formerly } = row
        return [
          { row, path, tag, id, told },
          ...(also ? [{ row, path: also, tag, id: `${id}_also`, told }] : []),
          ...(formerly
            ? [{ row, path: formerly, tag, id: `${id}_formerly`, told, deprecated: true as const }]
            : []),
        ]
      }),
  )
}

const verbs = { POST: 'post', GET: 'get', LIST: 'get', DELETE: 'delete' } as const

function pathsOf(
  groups: readonly EndpointGroup[],
  answers: AnswerDescriptions,
  schemas: Record<string, JsonSchema>,
): Paths {
  const paths: Paths = {}
  for (const one of placesOf(groups, answers)) {
    const place = one.path.replace(/:(\w+)/g, '{$1}')
    const verb = verbs[one.row.method]
    paths[place] ??= {}
    const known = paths[place][verb] as Json | undefined
    const made = operation(one, schemas)
    paths[place][verb] = known ? both(known, one.row, made) : made
    if (one.row.head) paths[place]['head'] = headOf(made)
  }
  return paths
}

/** Merges the read and the list at one path into one OpenAPI operation, because only their query differs. */
function both(known: Json, row: Endpoint, made: Json): Json {
  const parameters = known['parameters'] as Json[]
  const added: Json[] = row.method === 'LIST' ? [listFlag(false), ...queryOf(row.fields)] : []
  return {
    ...known,
    responses: { ...(known['responses'] as Json), 200: either(known, made) },
    description: `With list=true: ${row.summary}`,
    parameters: [...parameters, ...added.filter(({ name }) => parameters.every(one => one['name'] !== name))],
  }
}

interface Content {
  content: { 'application/json': { schema: JsonSchema } }
}

/** Returns a response that matches either of two operations. */
function either(...both: Json[]): Json {
  const contents = both.map(one => (one['responses'] as Record<string, Json & Content>)['200'])
  const schemas = contents.map(one => one?.content['application/json'].schema)
  const [first] = contents
  return {
    ...first,
    content: { 'application/json': { ...first?.content['application/json'], schema: { anyOf: schemas } } },
  }
}

/** Returns the operation without response bodies. */
const headOf = (read: Json): Json => ({
  ...read,
  operationId: `${read['operationId']}_head`,
  responses: Object.fromEntries(
    Object.entries(read['responses'] as Record<string, Json>).map(([status, { description = 'Refused' }]) => [
      status,
      { description },
    ]),
  ),
})

function operation(
  { row, path, tag, id, told, deprecated }: Place,
  schemas: Record<string, JsonSchema>,
): Json {
  const body = row.method === 'POST' && (Object.keys(row.fields).length > 0 || row.freeForm)
  return defined({
    operationId: id,
    tags: [tag],
    summary: row.summary,
    description: `${describeAccess(row)}${row.unrouted ? ' On AWS this endpoint has no address: the operator invokes its Lambda function directly.' : ''}`,
    deprecated,
    security: securityOf(row),
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => pathParameter(name)),
      ...(row.method === 'LIST' ? [listFlag(true)] : []),
      ...(row.method === 'POST' ? [] : queryOf(row.fields)),
    ],
    requestBody: body ? requestOf(row, told) : undefined,
    responses: buildOpenApiResponses(row, told, schemas),
  })
}

/** Returns the security requirement. An endpoint that only identifies callers also accepts requests without a token. */
const securityOf = (row: Endpoint) =>
  isOpenToAnonymous(row)
    ? identifyingCapability(row.access)
      ? [{}, { token: [] }, { bearer: [] }]
      : []
    : undefined

const parameters: Readonly<Record<string, { description: string; example: string }>> = {
  mount: { description: 'Path under which the method is enabled', example: 'cloud' },
  role: { description: 'Name of the role', example: 'web' },
  cert_name: { description: 'Name of the certificate', example: 'own' },
  account_id: { description: 'AWS account', example: '111122223333' },
  instance_id: { description: 'EC2 instance', example: 'i-0123456789abcdef0' },
  role_tag: { description: 'A role tag, as text or as base64', example: 'djE6eA' },
  role_name: { description: 'Name of the token role', example: 'web' },
  id: { description: 'ID', example: '2dbd10f1-8528-4246-89e7-82b25b8aba63' },
  policy_name: { description: 'Name of the policy', example: 'web' },
  method_path: { description: 'Path under which a method is enabled, without auth/', example: 'cloud' },
}

const pathParameter = (name: string): Json => {
  const { pattern } = pathParameterRule(name)
  return {
    name,
    in: 'path',
    required: true,
    ...parameters[name],
    schema: { type: 'string', minLength: 1, ...(pattern.includes('\\w') ? { pattern: `^${pattern}$` } : {}) },
  }
}

const listFlag = (required: boolean) => ({
  name: 'list',
  in: 'query',
  description: 'List the names below the path',
  required,
  schema: required ? { type: 'boolean', const: true } : { type: 'boolean' },
})

const queryOf = (fields: ParameterFields) =>
  Object.entries(fields).map(([name, field]) => ({
    name,
    in: 'query',
    description: field.doc,
    ...(field.required ? { required: true } : {}),
    schema: field.schema,
  }))

const requestOf = (row: Endpoint, { requestExample }: AnswerDescription): Json => ({
  ...(Object.values(row.fields).some(field => field.required) ? { required: true } : {}),
  content: {
    'application/json': { schema: bodyOf(row.fields), example: requestExample ?? {} },
  },
})

const bodyOf = (fields: ParameterFields): Json => {
  const required = Object.entries(fields).flatMap(([name, field]) => (field.required ? [name] : []))
  return defined({
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).flatMap(propertiesOf)),
    required: required.length > 0 ? required : undefined,
  })
}

const propertiesOf = ([name, field]: [string, ParameterField<unknown>]): [string, Json][] => {
  const shown = defined({
    ...field.schema,
    description: field.doc,
    writeOnly: field.secret || undefined,
    deprecated: field.replacedBy ? true : undefined,
  })
  return field.formerly
    ? [
        [name, shown],
        [field.formerly, { ...shown, deprecated: true }],
      ]
    : [[name, shown]]
}
