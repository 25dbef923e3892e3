import type { Server } from 'node:http'
import { readSignature } from '../signing/presented-signature.ts'
import { verifySignature } from '../signing/sigv4.ts'
import { jsonErrors } from './error-tables.ts'
import { type ErrorText, errorText } from './errors.ts'
import { type HttpAnswer, textAnswer, type WireRequest } from './http.ts'
import { serverOf } from './server.ts'

/** A long-term key of AWS. */
export interface AccessKeyPair {
  accessKeyId: string
  secretAccessKey: string
}

/**
 * An HTTP server for whoever has one of some keys; not listening yet. It refuses requests that none of them has signed,
 * because every user of this machine reaches its port.
 * @param largestBody bytes; default: a megabyte
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

/** Refuses a request that none of the keys has signed. @returns undefined: one of them has */
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
    ? errorText('unknown-key', 'This host does not know the access key: use the one that cluster.json names.')
    : verifySignature(request, presented, key, Date.now())
}
