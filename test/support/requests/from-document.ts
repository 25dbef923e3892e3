import fc from 'fast-check'

/* Generates requests from the API's OpenAPI document: valid requests, and slightly invalid requests. */

type Schema = Readonly<Record<string, unknown>>

interface Parameter {
  name: string
  in: 'path' | 'query'
  required?: boolean
  example?: string
  schema: Schema
}

/** An operation of the OpenAPI document, with the members that the generator of requests reads. */
export interface Operation {
  operationId: string
  parameters: readonly Parameter[]
  requestBody?: { required?: boolean; content: { 'application/json': { schema: Schema; example: unknown } } }
}

/** A generated request. `token` selects the token that it carries. */
export interface Sent {
  method: string
  path: string
  body: unknown
  headers: Record<string, string>
  token: 'root' | 'plain' | 'none' | 'bogus'
}

const ODD = [
  '',
  ' ',
  '0',
  '-1',
  '1h',
  'true',
  'root',
  '__proto__',
  'constructor',
  '../..',
  'a/b',
  'x'.repeat(600),
  '\u0000',
  '\ud800',
  'ä\u{1f600}',
  'arn:aws:iam::111122223333:role/*',
  'AAAA',
  'hvs.x',
  'hvb.AAAA',
  '%2f',
]
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('web', 'default', 'cloud', 'us-east-1', 'ec2', 'iam', 'service') },
  { weight: 2, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
)
const number = fc.oneof(
  fc.integer({ min: -2, max: 10 }),
  fc.constantFrom(0.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308),
)

/** Generates values of a JSON schema. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const choices = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined
  if (choices) return fc.oneof(...choices.map(valuesOf))
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]))
  if ('const' in schema) return fc.constant(schema['const'])
  switch (schema['type']) {
    case 'string':
      return word
    case 'integer':
      return number
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(valuesOf((schema['items'] as Schema | undefined) ?? {}), { maxLength: 4 })
    case 'object':
      return fc.dictionary(word, valuesOf((schema['additionalProperties'] as Schema | undefined) ?? {}), {
        maxKeys: 3,
        noNullPrototype: true,
      })
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** Generates request bodies of a schema: the required fields, and some optional fields. */
function bodyOf(schema: Schema): fc.Arbitrary<Record<string, unknown>> {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>)
  const required = (schema['required'] ?? []) as string[]
  const others = properties.map(([name]) => name).filter(name => !required.includes(name))
  const few = fc.shuffledSubarray(others, { maxLength: Math.min(5, others.length) })
  return few.chain(names =>
    fc.record(
      Object.fromEntries(
        properties
          .filter(([name]) => required.includes(name) || names.includes(name))
          .map(([name, one]) => [name, valuesOf(one)]),
      ),
      { noNullPrototype: true },
    ),
  )
}

type Mutation = (body: Record<string, unknown>) => unknown

/** Changes of a request body that no careful client makes. */
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Mutation>(body => body) },
  fc.nat(20).map(
    (which): Mutation =>
      body =>
        Object.fromEntries(Object.entries(body).filter((_, index) => index !== which % 5)),
  ),
  fc.jsonValue({ maxDepth: 3 }).map(
    (other): Mutation =>
      body =>
        Object.fromEntries(
          Object.entries(body).map(([name, value], index) => [name, index === 0 ? other : value]),
        ),
  ),
  word.map(
    (name): Mutation =>
      body => ({ ...body, [name || 'x']: 1 }),
  ),
  fc.nat(60).map(
    (length): Mutation =>
      body =>
        JSON.stringify(body).slice(0, length),
  ),
  fc.constantFrom<Mutation>(
    () => '[]',
    () => 'null',
    () => '"text"',
    () => `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
    body => `{"token":1,"token":2,${JSON.stringify(body).slice(1)}`,
    () => '{"ttl":12345678901234567890}',
    () => 'a=1&a=2&token=x',
  ),
)

const headers = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Record<string, string>>({}) },
  fc.constantFrom<Record<string, string>>(
    { 'x-vault-wrap-ttl': '60' },
    { 'x-vault-wrap-ttl': '-1' },
    { 'x-vault-namespace': 'root' },
    { 'x-vault-namespace': 'a/b' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'text/plain' },
    { 'x-vault-request': 'true' },
    { 'if-match': '*' },
  ),
)

const token = fc.oneof(
  { weight: 14, arbitrary: fc.constant('root' as const) },
  fc.constantFrom('plain' as const, 'none' as const, 'bogus' as const),
)

const isSegment = (text: string): boolean => text !== '' && !/[\ud800-\udfff]/.test(text)

/** Generates a parameter of a path, mostly a name that exists. */
const partOf = ({ example = 'web' }: Parameter): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(example) },
    { weight: 1, arbitrary: word.filter(isSegment).map(encodeURIComponent) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('other', 'web%2f', '%00', '..', 'a%zz', encodeURIComponent('a b')),
    },
  )

const queryOf = ({ schema, required, name }: Parameter): fc.Arbitrary<string> => {
  const given = valuesOf(schema).map(value => `${name}=${encodeURIComponent(safe(value))}`)
  return required ? given : fc.oneof({ weight: 2, arbitrary: fc.constant('') }, given)
}
const safe = (value: unknown): string => String(value).toWellFormed()

/** Generates requests to an operation of the OpenAPI document. @param verb `get`, `post`, `delete`, `head` */
export function requestsTo(
  verb: string,
  path: string,
  { parameters, requestBody }: Operation,
): fc.Arbitrary<Sent> {
  const inPath = parameters.filter(one => one.in === 'path')
  const inQuery = parameters.filter(one => one.in === 'query')
  const json = requestBody?.content['application/json']
  const body = json
    ? fc
        .tuple(
          fc.oneof(
            { weight: 1, arbitrary: fc.constant(json.example as Record<string, unknown>) },
            { weight: 3, arbitrary: bodyOf(json.schema) },
          ),
          mutation,
        )
        .map(([given, mutate]) => mutate(given))
    : fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(undefined) }, fc.constant<unknown>({ odd: 1 }))
  const odd = fc.oneof(
    { weight: 20, arbitrary: fc.constant('') },
    fc.constantFrom('list=2', 'list=true', 'help=1', 'a=1&a=2', '%', 'version=1'),
  )
  return fc
    .record({
      parts: fc.tuple(...inPath.map(partOf)),
      query: fc.tuple(...inQuery.map(queryOf), odd),
      body: verb === 'post' ? body : fc.constant<unknown>(undefined),
      put: fc.boolean(),
      headers,
      token,
    })
    .map(({ parts, query, put, ...rest }) => {
      let filled = path
      for (const [index, { name }] of inPath.entries())
        filled = filled.replace(`{${name}}`, () => parts[index] ?? '')
      const asked = query.filter(one => one !== '').join('&')
      return {
        ...rest,
        method: verb === 'post' && put ? 'PUT' : verb.toUpperCase(),
        path: asked === '' ? filled : `${filled}?${asked}`,
      }
    })
}

/** Lists the operations of an OpenAPI document. */
export const operationsOf = ({ paths }: { paths: Record<string, object> }) =>
  Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries<Operation>(verbs as Record<string, Operation>).map(([verb, operation]) => ({
      title: `${verb} ${path}`,
      verb,
      path,
      operation,
    })),
  )
