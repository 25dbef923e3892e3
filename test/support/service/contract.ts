import { appendFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { threadId } from 'node:worker_threads'
import { type Endpoint, type EndpointGroup, operationByMethod } from '../../../shared/api/endpoint.ts'
import { type ErrorCode, errorCodes } from '../../../shared/api/errors.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { endpointAnswers } from '../../../shared/endpoints/answers/all.ts'
import { buildOpenApi } from '../../../shared/endpoints/openapi.ts'
import { matchEndpoint } from '../../../shared/http/match.ts'
import type { Reply } from './api.ts'
import { compiler } from './json-schema.ts'
import { resolveShared } from './resolved-document.ts'

/* Checks every answer in tests against the API's OpenAPI document. */

type Schema = Readonly<Record<string, unknown>>
interface Answered {
  content?: { 'application/json': { schema: Schema } }
}
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Answered> }>>
  components: { schemas: Record<string, Schema> }
}

const written = buildOpenApi(endpointGroups, endpointAnswers, '0') as unknown as Document
/**
 * The OpenAPI document as generated from the endpoint table now, with shared parts copied to the operations
 * that refer to them.
 */
export const document = resolveShared(written, written)
const compile = compiler(document.components.schemas)

const VERBS = { POST: 'post', GET: 'get', LIST: 'get', DELETE: 'delete' } as const
const ENVELOPE = 'request_id lease_id renewable lease_duration data wrap_info warnings auth mount_type'.split(
  ' ',
)
const ALL: EndpointGroup = { name: 'all', endpoints: endpointGroups.flatMap(group => group.endpoints) }
const HELP = {
  type: 'object',
  properties: { help: { type: 'string' }, see_also: { type: 'array', items: { type: 'string' } } },
  required: ['help', 'see_also'],
}

const counted = { answers: 0, operations: new Set<string>() }
const faults: string[] = []
/** Maximum number of faults to show. */
const MOST = 20

/** Returns the faults of answers since the last call. */
export const takeFaults = (): string[] => faults.splice(0)

/**
 * Records how many answers were checked since the last call, and of which operations, for the end of the run.
 */
export function tellAnswers(directory: string): void {
  const line = JSON.stringify({ answers: counted.answers, operations: [...counted.operations] })
  counted.answers = 0
  counted.operations.clear()
  appendFileSync(`${directory}/answers-${process.pid}-${threadId}`, `${line}\n`)
}

/**
 * Checks an answer against the OpenAPI document, and records the faults of the answer.
 * @returns the answer
 */
export function checked<R extends Reply>(method: string, path: string, reply: R): R {
  counted.answers += 1
  const found = faultsOf(method, path, reply)
  if (found.length > 0 && faults.length < MOST)
    faults.push(
      `${method} ${path.slice(0, 200)} → ${reply.status} ${reply.text.slice(0, 300)}: ${found.slice(0, 3).join('; ')}`,
    )
  return reply
}

/** Returns the faults of an answer, compared with the OpenAPI document. */
export function faultsOf(method: string, path: string, reply: Reply): string[] {
  // an error that the front end itself answers has no request ID
  if (reply.status >= 400 && !reply.headers['x-request-id']) return []
  if (reply.status >= 400 && reply.headers['x-error-code']) return refusalFaults(reply)
  const [before = '', query = ''] = path.split(/\?(.*)/s)
  const asked = new URLSearchParams(query)
  if (method === 'GET' && asked.get('help')) return bodyFaults(HELP, reply)
  const row = rowOf(method, before, asked)
  if (!row) return reply.status < 400 ? ['no operation answers there'] : ['a refusal without a code']
  return successFaults(method, row, reply)
}

const FLAGS = ['1', 't', 'T', 'TRUE', 'true', 'True']

function rowOf(method: string, path: string, asked: URLSearchParams): Endpoint | undefined {
  const list =
    method === 'LIST' || (['GET', 'HEAD'].includes(method) && FLAGS.includes(asked.get('list') ?? ''))
  const verb = list ? 'LIST' : method === 'PUT' ? 'POST' : method === 'HEAD' ? 'GET' : method
  const found = matchEndpoint(
    ALL,
    operationByMethod[verb as Endpoint['method']],
    decoded(path).replace(/^\//, ''),
  )
  return 'endpoint' in found ? found.endpoint : undefined
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

const refusalFaults = (reply: Reply): string[] => {
  const code = reply.headers['x-error-code'] as ErrorCode
  const row: { status: number } | undefined = errorCodes[code]
  return [
    ...(row?.status === reply.status ? [] : [`the code ${code} is not one of status ${reply.status}`]),
    ...bodyFaults(document.components.schemas['Errors'] ?? {}, reply),
  ]
}

/** An answer to HEAD has no body. */
const bodyFaults = (schema: Schema, { body, text }: Reply): string[] =>
  body === undefined && text === '' ? [] : compile(schema)(body, 'body')

function successFaults(method: string, row: Endpoint, reply: Reply): string[] {
  counted.operations.add(`${row.method} ${row.path}`)
  const place = row.path.replace(/:(\w+)/g, '{$1}')
  const responses = document.paths[place]?.[VERBS[row.method]]?.responses
  const given = responses?.[reply.status] ?? (row.head ? responses?.['200'] : undefined)
  if (!given) return [`the status ${reply.status} is not told of ${row.method} ${row.path}`]
  const schema = given.content?.['application/json'].schema
  if (!schema) return reply.text === '' ? [] : ['a body where none is told of']
  if (reply.text === '') return method === 'HEAD' ? [] : ['no body']
  if (isWrapped(reply)) return compile({ $ref: '#/components/schemas/WrappedAnswer' })(reply.body, 'body')
  return [...compile(schema)(reply.body, 'body'), ...mirrorFaults(row, reply)]
}

const isWrapped = ({ body }: Reply): boolean => body?.wrap_info !== undefined && body.wrap_info !== null

/** Returns faults of answers that repeat some members of `data` outside `data`, unchanged. */
function mirrorFaults({ mirrored, answers: kind }: Endpoint, { body }: Reply): string[] {
  if (kind !== 'data' || !body?.data || typeof body.data !== 'object') return []
  const outside = Object.entries(body).filter(([name]) => !ENVELOPE.includes(name))
  const wanted = mirrored ? Object.entries(body.data).filter(([name]) => !ENVELOPE.includes(name)) : []
  return isDeepStrictEqual(Object.fromEntries(outside), Object.fromEntries(wanted))
    ? []
    : ['what stands outside of data is not what is inside']
}
