import { jsonErrors } from '../wire/error-tables.ts'
import { awsError } from '../wire/errors.ts'
import { type HttpAnswer, headerOf, textAnswer, type WireRequest } from '../wire/http.ts'
import type { Protocol } from './service.ts'
import { statusAndCode } from './status.ts'

/** A JSON object nobody has looked into yet. */
export type JsonInput = Readonly<Record<string, unknown>>

/**
 * The JSON 1.1 protocol: the action in `X-Amz-Target`, an object in, an object or nothing out.
 *
 * @param target the service's name in front of the action's
 * @see https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
 */
export const jsonProtocol = (target: string): Protocol<JsonInput, object | undefined> => ({
  errors: jsonErrors,
  actionOf: request => {
    const [prefix, action = ''] = headerOf(request, 'x-amz-target')?.split('.') ?? []
    return prefix === target ? action : ''
  },
  inputOf,
  answer: (_request, _action, result) => jsonAnswer(200, result === undefined ? '' : JSON.stringify(result)),
  refuse: (_request, error) => {
    const { status, code, message } = statusAndCode(error, jsonErrors)
    return jsonAnswer(status, JSON.stringify({ __type: code, message }))
  },
})

const jsonAnswer = (status: number, body: string): HttpAnswer =>
  textAnswer(status, 'application/x-amz-json-1.1', body)

function inputOf(request: WireRequest): JsonInput {
  try {
    const value: unknown = JSON.parse(request.body.toString('utf8') || '{}')
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Refused below, like every other body that is no object.
  }
  throw awsError(400, 'SerializationException', 'The request body is not a JSON object.')
}

/** A text member; absent when missing. */
export function optionalText(input: JsonInput, name: string): string | undefined {
  const value = input[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw awsError(400, 'SerializationException', `${name} must be a string.`)
}

/** A text member that must be there. */
export function requiredText(input: JsonInput, name: string): string {
  const value = optionalText(input, name)
  if (value) return value
  throw awsError(
    400,
    'ValidationException',
    `1 validation error detected: Value null at '${name}' failed to satisfy constraint: Member must not be null`,
  )
}

/** A member of base64 text, decoded. */
export const requiredBytes = (input: JsonInput, name: string): Buffer =>
  Buffer.from(requiredText(input, name), 'base64')
