import type { Server } from 'node:http'
import { readPresentedSignature } from '../signing/presented-signature.ts'
import { verifySignature } from '../signing/sigv4.ts'
import { jsonErrorTable } from './error-tables.ts'
import { type AwsErrorText, createErrorText } from './errors.ts'
import { createTextAnswer, type HttpAnswer, type WireRequest } from './http.ts'
import { createWireServer } from './server.ts'

/** A long-term AWS access key. */
export interface AccessKeyPair {
  accessKeyId: string
  secretAccessKey: string
}

/**
 * Creates an HTTP server for clients that hold one of some access keys. The server does not listen yet. It
 * rejects requests that none of the keys has signed, because every user of this machine can reach its port.
 * @param largestBody bytes; default: 1 MB
 */
export const createSignedServer = (
  keys: readonly AccessKeyPair[],
  answer: (request: WireRequest) => Promise<HttpAnswer>,
  largestBody?: number,
): Server =>
  createWireServer(
    async request => findSignatureRefusal(keys, request) ?? answer(request),
    largestBody === undefined ? {} : { largestBody },
  )

/**
 * Rejects a request that none of the access keys has signed. @returns undefined if one of the keys has signed
 * the request
 */
export function findSignatureRefusal(
  keys: readonly AccessKeyPair[],
  request: WireRequest,
): HttpAnswer | undefined {
  const fault = faultOf(keys, request)
  if (fault === undefined) return undefined
  const { code } = jsonErrorTable[fault.kind]
  const answer = createTextAnswer(
    403,
    'application/json',
    JSON.stringify({ __type: code, message: fault.message }),
  )
  return { ...answer, headers: { ...answer.headers, 'x-amzn-errortype': code } }
}

function faultOf(keys: readonly AccessKeyPair[], request: WireRequest): AwsErrorText | undefined {
  const read = readPresentedSignature(request)
  if (!read.ok) return read.fault
  const presented = read.value
  const key = keys.find(one => one.accessKeyId === presented.accessKeyId)
  return key === undefined
    ? createErrorText('unknown-key', 'This host does not know the access key. Use the one in cluster.json.')
    : verifySignature(request, presented, key, Date.now())
}
