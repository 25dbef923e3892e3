import type { Server } from 'node:http'
import { readSignature } from '../signing/presented-signature.ts'
import { verifySignature } from '../signing/sigv4.ts'
import { jsonErrors } from './error-tables.ts'
import { type ErrorText, errorText } from './errors.ts'
import { type HttpAnswer, textAnswer, type WireRequest } from './http.ts'
import { serverOf } from './server.ts'

/** A long-term AWS access key. */
export interface AccessKeyPair {
  accessKeyId: string
  secretAccessKey: string
}

/**
 * Creates an HTTP server for holders of one of some keys; it does not listen yet. It rejects requests that none of
 * the keys has signed, because every user of this machine can reach its port.
 * @param largestBody bytes; default: 1 MB
 */
export const signedServer = (
  keys: readonly AccessKeyPair[],
  answer: (request: WireRequest) => Promise<HttpAnswer>,
  largestBody?: number,
): Server =>
  serverOf(
    async request => refusalOfSignature(keys, request) ?? answer(request),
    largestBody === undefined ? {} : { largestBody },
  )

/** Rejects a request that none of the keys has signed. @returns undefined if one of them has */
export function refusalOfSignature(
  keys: readonly AccessKeyPair[],
  request: WireRequest,
): HttpAnswer | undefined {
  const fault = faultOf(keys, request)
  if (fault === undefined) return undefined
  const { code } = jsonErrors[fault.kind]
  const answer = textAnswer(403, 'application/json', JSON.stringify({ __type: code, message: fault.message }))
  return { ...answer, headers: { ...answer.headers, 'x-amzn-errortype': code } }
}

function faultOf(keys: readonly AccessKeyPair[], request: WireRequest): ErrorText | undefined {
  const read = readSignature(request)
  if (!read.ok) return read.fault
  const presented = read.value
  const key = keys.find(one => one.accessKeyId === presented.accessKeyId)
  return key === undefined
    ? errorText('unknown-key', 'This host does not know the access key. Use the one in cluster.json.')
    : verifySignature(request, presented, key, Date.now())
}
