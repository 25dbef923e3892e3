import { isObject, parseJsonObject } from '../../../shared/values/json.ts'
import type { ProveCloud } from './cloud.ts'

type Body = Readonly<Record<string, unknown>>

/** @throws Error if an object has no such text */
export const textIn = (object: Body, name: string): string => {
  const value = object[name]
  if (typeof value !== 'string' || value === '') throw new Error(`an answer has no ${name}`)
  return value
}

/**
 * Sends an API request to a cluster by an invocation of a function. @returns the body of the answer
 * @throws Error unless the answer is a success
 */
export async function invokeApi(
  cloud: ProveCloud,
  functionName: string,
  [method, path]: readonly ['POST' | 'PUT', string],
  body: object,
): Promise<Body> {
  const answer = await cloud.invokeFunction(functionName, {
    version: '2.0',
    rawPath: `/v1/${path}`,
    requestContext: { http: { method } },
    body: JSON.stringify(body),
  })
  const { statusCode, body: text } = isObject(answer) ? answer : {}
  const read = statusCode === 200 && typeof text === 'string' ? parseJsonObject(text) : undefined
  // the answer can contain secrets, so its text is not shown
  if (read === undefined)
    throw new Error(`${path} was refused by an invocation (status ${String(statusCode)})`)
  return read
}
