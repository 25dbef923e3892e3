import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot, version } from '../../infra/checkout.ts'
import { type Endpoint, pathsOf } from '../../shared/api/endpoint.ts'
import { readParameterFields } from '../../shared/api/fields.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { endpointAnswers } from '../../shared/endpoints/answers/all.ts'
import { buildOpenApi } from '../../shared/endpoints/openapi.ts'
import { buildOpenApiDocument } from '../../shared/endpoints/openapi-document.ts'
import { compiler } from '../support/service/json-schema.ts'
import { openReference, resolveShared } from '../support/service/resolved-document.ts'

type Schema = Readonly<Record<string, unknown>>

interface Answered {
  content?: { 'application/json': { schema: Schema; example: unknown } }
}

interface Operation {
  operationId: string
  tags: string[]
  responses: Record<string, Answered>
  parameters: { name: string; in: string; required?: boolean }[]
  security?: unknown[]
  requestBody?: { content: Record<string, { schema: { properties: Record<string, unknown> } }> }
  deprecated?: boolean
}

interface Document {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: object } & Record<string, object>
}

const written = buildOpenApi(endpointGroups, endpointAnswers, version) as unknown as Document
const document = resolveShared(written, written)

describe('docs/openapi.json', () => {
  test('equals the document from the endpoint table (after a change: npm run openapi)', () => {
    expect(JSON.parse(readFileSync(`${checkoutRoot}docs/openapi.json`, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(written)),
    )
  })

  test('has every path of every endpoint that does not always reject, and no other', () => {
    const wanted = endpointGroups
      .flatMap(group => group.endpoints.filter(row => row.answers !== 'refused').flatMap(pathsOf))
      .map(path => path.replace(/:(\w+)/g, '{$1}'))
    expect(new Set(Object.keys(document.paths))).toEqual(new Set(wanted))
  })

  test('separates path, query and body parameters, and marks endpoints without authentication', () => {
    const { paths } = document
    expect(paths['/auth/{mount}/login']?.['post']).toMatchObject({ security: [] })
    const role = paths['/auth/{mount}/role/{role}']?.['post']
    expect(role?.parameters.map(one => one.name)).toEqual(['mount', 'role'])
    expect(Object.keys(role?.requestBody?.content['application/json']?.schema.properties ?? {})).toEqual(
      expect.arrayContaining(['bound_ami_id', 'token_ttl', 'bound_iam_principal_arn']),
    )
    expect(paths['/auth/{mount}/roles']?.['get']?.parameters).toContainEqual(
      expect.objectContaining({ name: 'list', required: true }),
    )
    expect(paths['/auth/{mount}/identity-whitelist/{instance_id}']?.['get']).toMatchObject({
      deprecated: true,
    })
    expect(paths['/auth/{mount}/identity-accesslist/{instance_id}']?.['get']).not.toHaveProperty('deprecated')
  })
})

/** Returns all values of a key anywhere in the OpenAPI document. */
function all(key: string, inside: unknown): unknown[] {
  if (typeof inside !== 'object' || inside === null) return []
  return Object.entries(inside).flatMap(([name, value]) => [
    ...(name === key ? [value] : []),
    ...all(key, value),
  ])
}

const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, operation]) => ({ title: `${verb} ${path}`, path, operation })),
)
const { components } = document
const jsonOf = (one: Answered) => one.content?.['application/json']

describe('docs/openapi.json as OpenAPI 3.1', () => {
  test('resolves every reference, and uses every component', () => {
    const refs = all('$ref', written) as string[]
    expect(refs.filter(ref => openReference(ref, written) === undefined)).toEqual([])
    const { securitySchemes: _, ...kinds } = written.components
    const wanted = Object.entries(kinds).flatMap(([kind, parts]) =>
      Object.keys(parts).map(name => `#/components/${kind}/${name}`),
    )
    expect(Object.keys(kinds)).toEqual(expect.arrayContaining(['parameters', 'requestBodies', 'responses']))
    expect(wanted.filter(ref => !refs.includes(ref))).toEqual([])
  })

  test('repeats no parameter, request body or answer', () => {
    const parts = Object.values(written.paths)
      .flatMap(verbs => Object.values(verbs))
      .flatMap(one => [
        ...one.parameters,
        ...(one.requestBody ? [one.requestBody] : []),
        ...Object.values(one.responses).filter(answer => jsonOf(answer)?.schema['$ref']),
      ])
      .filter(part => !('$ref' in part))
      .map(part => JSON.stringify(part))
    expect(parts.filter((part, index) => parts.indexOf(part) !== index)).toEqual([])
  })

  test('has a unique operationId and a described tag for every operation', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(ids).toEqual([...new Set(ids)])
    expect(ids.filter(id => !/^[a-z][A-Za-z]*(_also|_formerly|_head)?$/.test(id))).toEqual([])
    const tags = document.tags.filter(one => one.description !== one.name).map(one => one.name)
    expect(operations.filter(({ operation }) => !operation.tags.every(tag => tags.includes(tag)))).toEqual([])
  })

  test.each(operations)(
    'names the parameters of $title, and gives its success and error answers',
    ({ path, operation }) => {
      const named = operation.parameters.filter(one => one.in === 'path').map(one => one.name)
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
      const all = operation.parameters.map(one => `${one.in} ${one.name}`)
      expect(all).toEqual([...new Set(all)])
      const statuses = Object.keys(operation.responses)
      expect(statuses.filter(status => status.startsWith('2')).length).toBeGreaterThan(0)
      expect(statuses).toEqual(expect.arrayContaining(['400', '403', '429', '4XX', '5XX']))
    },
  )

  test.each(
    operations.flatMap(({ title, operation }) =>
      Object.entries(operation.responses).flatMap(([status, one]) => {
        const json = jsonOf(one)
        return json ? [{ title: `${title} ${status}`, json }] : []
      }),
    ),
  )('has an example of $title that matches its schema', ({ json }) => {
    expect(compiler(components.schemas)(json.schema)(json.example, 'example')).toEqual([])
  })

  test('lists the required fields of every schema of an answer', () => {
    const shapes = (all('properties', components.schemas) as object[]).filter(
      one => Object.keys(one).length > 0,
    )
    expect((all('required', components.schemas) as unknown[]).length).toBeGreaterThanOrEqual(shapes.length)
  })
})

describe('the table of API answers', () => {
  const rows = endpointGroups.flatMap(group => group.endpoints)
  const nameOf = (row: Endpoint) => `${row.method} ${row.path}`

  test('has a line for every endpoint, and no line without an endpoint', () => {
    const wanted = rows.filter(row => row.answers !== 'refused').map(nameOf)
    expect(Object.keys(endpointAnswers).sort()).toEqual(wanted.sort())
  })

  test('has a schema for all data', () => {
    const silent = rows.filter(row => {
      const told = endpointAnswers[nameOf(row)]
      return ['data', 'plain'].includes(row.answers) && !told?.shape && !told?.body
    })
    expect(silent.map(nameOf)).toEqual([])
  })

  test.each(
    rows.filter(
      row => row.method === 'POST' && endpointAnswers[nameOf(row)] && Object.keys(row.fields).length > 0,
    ),
  )('has an example body for $method $path that its fields accept', row => {
    const sent = endpointAnswers[nameOf(row)]?.requestExample
    expect(readParameterFields(row.fields, sent ?? {}).unknown).toEqual([])
    if (row.path !== '/sys/init') expect(sent).toBeDefined()
  })
})

describe('the endpoint for the OpenAPI document', () => {
  test('returns the document in docs/', async () => {
    expect(await buildOpenApiDocument()).toEqual(JSON.parse(JSON.stringify(written)))
  })
})
