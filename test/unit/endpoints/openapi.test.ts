import { describe, expect, test } from 'vitest'
import { answer, dataAnswer, noContentAnswer } from '../../../shared/api/call.ts'
import {
  allowAnyone,
  allowByPolicy,
  declareEndpoint,
  type EndpointGroup,
} from '../../../shared/api/endpoint.ts'
import { errorCodes } from '../../../shared/api/errors.ts'
import { intField, textField } from '../../../shared/api/fields.ts'
import { describeAnswer } from '../../../shared/endpoints/answers/describe.ts'
import { buildOpenApi } from '../../../shared/endpoints/openapi.ts'
import { flagShape, mapShape, objectShape, textShape } from '../../../shared/values/shape.ts'
import { resolveShared } from '../../support/service/resolved-document.ts'

const handle = () => answer(dataAnswer({}))
const group: EndpointGroup = {
  name: 'things',
  endpoints: [
    declareEndpoint({
      method: 'POST',
      path: '/auth/:mount/thing/:name',
      formerly: '/auth/:mount/object/:name',
      summary: 'Write a thing',
      fields: {
        label: textField('Its label', { required: true }),
        key: textField('Its key', { secret: true, formerly: 'old_key' }),
      },
      access: allowByPolicy('by-existence'),
      answers: 'nothing',
      handle: () => answer(noContentAnswer()),
    }),
    declareEndpoint({
      method: 'GET',
      path: '/auth/:mount/thing/:name',
      summary: 'Read a thing',
      access: allowByPolicy('read', { sudo: true }),
      answers: 'data',
      handle,
    }),
    declareEndpoint({
      method: 'GET',
      path: '/things',
      summary: 'The things',
      access: allowAnyone,
      answers: 'plain',
      handle,
    }),
    declareEndpoint({
      method: 'LIST',
      path: '/things',
      summary: 'List things',
      fields: { limit: intField('At most so many') },
      access: allowByPolicy('list'),
      answers: 'keys',
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/go',
      summary: 'Go',
      access: allowByPolicy('create-or-update'),
      answers: 'accepted',
      handle,
    }),
  ],
}

const thing = objectShape({ label: textShape }, { is_new: flagShape })
const answers = {
  'POST /auth/:mount/thing/:name': describeAnswer('writeThing', undefined, {
    requestExample: { label: 'a' },
  }),
  'GET /auth/:mount/thing/:name': describeAnswer('readThing', { title: 'Thing', ...thing }),
  'GET /things': describeAnswer('readThings', mapShape(textShape)),
  'LIST /things': describeAnswer('listThings'),
  'POST /go': describeAnswer('go'),
}

// biome-ignore lint/suspicious/noExplicitAny: a document to look into
const written = buildOpenApi([group], answers, '1.2.3') as any
const document = resolveShared(written, written)
const operation = (path: string, verb: string) => document.paths[path]?.[verb]

describe('the OpenAPI document', () => {
  test('the document contains its version', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } })
  })

  test('a write has its fields in the body, and secrets are write-only', () => {
    const write = operation('/auth/{mount}/thing/{name}', 'post')
    const { schema } = write.requestBody.content['application/json']
    expect(schema).toEqual({
      type: 'object',
      properties: {
        label: { type: 'string', description: 'Its label' },
        key: { type: 'string', description: 'Its key', writeOnly: true },
        old_key: { type: 'string', description: 'Its key', writeOnly: true, deprecated: true },
      },
      required: ['label'],
    })
    expect(write.parameters).toMatchObject(
      ['mount', 'name'].map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    )
    expect(write.requestBody).toMatchObject({
      required: true,
      content: { 'application/json': { example: { label: 'a' } } },
    })
    expect(Object.keys(write.responses)).toEqual([
      '200',
      '204',
      '400',
      '403',
      '404',
      '413',
      '415',
      '429',
      '4XX',
      '5XX',
    ])
    expect(write).not.toHaveProperty('deprecated')
  })

  test('every operation has a unique ID at each of its paths', () => {
    expect(operation('/auth/{mount}/thing/{name}', 'post').operationId).toBe('writeThing')
    expect(operation('/auth/{mount}/object/{name}', 'post').operationId).toBe('writeThing_formerly')
    expect(operation('/go', 'post')).toMatchObject({ operationId: 'go', tags: ['things'] })
  })

  test('a response is the envelope with its data, a type name and an example', () => {
    const { schema, example } = operation('/auth/{mount}/thing/{name}', 'get').responses[200].content[
      'application/json'
    ]
    expect(schema).toEqual({ $ref: '#/components/schemas/ReadThingAnswer' })
    expect(document.components.schemas.ReadThingAnswer.allOf).toEqual([
      { $ref: '#/components/schemas/Envelope' },
      { type: 'object', properties: { data: { $ref: '#/components/schemas/Thing' } }, required: ['data'] },
    ])
    expect(document.components.schemas.Thing).toEqual({
      type: 'object',
      properties: { label: { type: 'string' }, is_new: { type: 'boolean' } },
      required: ['label'],
    })
    expect(example).toMatchObject({ data: { label: '' }, auth: null, warnings: null })
  })

  test('a row without a described response is an error', () => {
    const { 'POST /go': _, ...others } = answers
    expect(() => buildOpenApi([group], others, '1')).toThrow('the endpoint POST /go has no declared answer')
  })

  test('endpoints that always reject are omitted', () => {
    const refused = declareEndpoint({ ...group.endpoints[4], path: '/never', answers: 'refused' } as never)
    expect(buildOpenApi([{ ...group, endpoints: [refused] }], {}, '1')).toMatchObject({ paths: {} })
  })

  test('a former path is deprecated', () => {
    expect(operation('/auth/{mount}/object/{name}', 'post')).toMatchObject({ deprecated: true })
    expect(Object.keys(document.paths)).toHaveLength(4)
  })

  test('a write without fields has no body', () => {
    expect(operation('/go', 'post')).not.toHaveProperty('requestBody')
  })

  test.each([
    [
      '/auth/{mount}/thing/{name}',
      'post',
      'Needs the capability `create` for a new object, else `update`, on the path.',
    ],
    ['/auth/{mount}/thing/{name}', 'get', 'Needs the capability `read` and `sudo` on the path.'],
    ['/go', 'post', 'Needs the capability `create` or `update` on the path.'],
  ])('%s %s describes its access', (path, verb, text) => {
    expect(operation(path, verb).description).toBe(text)
    expect(operation(path, verb)).not.toHaveProperty('security')
  })

  test('reading and listing the same path share one operation', () => {
    const both = operation('/things', 'get')
    expect(both.summary).toBe('The things')
    expect(both.description).toBe('With list=true: List things')
    expect(both.parameters).toEqual([
      expect.objectContaining({ name: 'list', in: 'query', required: false, schema: { type: 'boolean' } }),
      { name: 'limit', in: 'query', description: 'At most so many', schema: { type: 'integer' } },
    ])
  })

  test('repeated parts are shared in components', () => {
    const { parameters, requestBodies } = written.components
    expect(written.paths['/auth/{mount}/thing/{name}'].get.parameters).toEqual([
      { $ref: '#/components/parameters/mount' },
      { $ref: '#/components/parameters/name' },
    ])
    expect(parameters.mount).toMatchObject({ name: 'mount', in: 'path' })
    expect(written.paths['/auth/{mount}/object/{name}'].post.requestBody).toEqual({
      $ref: '#/components/requestBodies/writeThing',
    })
    expect(Object.keys(requestBodies)).toEqual(['writeThing'])
    expect(written.paths['/things'].get.parameters[1]).toMatchObject({ name: 'limit' })
  })

  test('every error code is listed with its status', () => {
    const { description } = document.components.schemas.Errors
    for (const [code, { status }] of Object.entries(errorCodes))
      expect(description).toContain(`${code} (${status})`)
  })
})
