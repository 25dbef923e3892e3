import * as v from 'valibot'
import { parseJsonObject } from '../../../../shared/values/json.ts'
import { findStatusAndCode, jsonErrorTable } from '../wire/error-tables.ts'
import { awsError } from '../wire/errors.ts'
import { createTextAnswer, type HttpAnswer, requestHeaderOf, type WireRequest } from '../wire/http.ts'
import type { ActionContext, ServiceAction, ServiceProtocol } from './service.ts'

/** A JSON object that has not been checked yet. */
type JsonInput = Readonly<Record<string, unknown>>

/**
 * The JSON protocols of AWS: the action is in `X-Amz-Target`, the input is an object, and the output is an
 * object or nothing.
 * @param target the service's name in front of the action's name
 * @see https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
 */
export const createJsonProtocol = (target: string): ServiceProtocol<JsonInput, object | undefined> => ({
  actionOf: request => {
    const [prefix, action = ''] = requestHeaderOf(request, 'x-amz-target')?.split('.') ?? []
    return prefix === target ? action : ''
  },
  inputOf,
  answer: (_request, _action, result) => jsonAnswer(200, result === undefined ? '' : JSON.stringify(result)),
  refuse: (_request, error) => {
    const { status, code, message } = findStatusAndCode(error, jsonErrorTable)
    return jsonAnswer(status, JSON.stringify({ __type: code, message }))
  },
})

const jsonAnswer = (status: number, body: string): HttpAnswer =>
  createTextAnswer(status, 'application/x-amz-json-1.1', body)

function inputOf(request: WireRequest): JsonInput {
  const value = parseJsonObject(request.body.toString('utf8') || '{}')
  if (value) return value
  throw awsError(400, 'SerializationException', 'The request body is not a JSON object.')
}

/**
 * Declares an action whose input has a schema. If the schema's message is one word, the word is the error
 * code.
 * @see https://smithy.io/2.0/spec/type-refinement-traits.html for missing members, and members of another
 * type
 */
export const createJsonAction =
  <S extends v.GenericSchema, Context = ActionContext>(
    schema: S,
    run: (call: Context & { input: v.InferOutput<S> }) => object | undefined,
  ): ServiceAction<JsonInput, object | undefined, Context> =>
  call => {
    const read = v.safeParse(schema, call.input)
    if (read.success) return run({ ...call, input: read.output })
    const [issue] = read.issues
    const isOfAnotherType = issue.kind === 'schema' && issue.received !== 'undefined'
    const code = isOfAnotherType ? 'SerializationException' : 'ValidationException'
    const named = /^[A-Z]\w+$/.test(issue.message) ? issue.message : code
    throw awsError(400, named, `${v.getDotPath(issue)}: ${issue.message}`)
  }
