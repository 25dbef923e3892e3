import { parseJson } from '../../values/json.ts'
import { readShape } from '../../values/read-shape.ts'
import { anyShape, objectShape, textArrayShape } from '../../values/shape.ts'
import { describeRefusedAnswer } from '../refusal.ts'

/** The API of the cluster that serves this page. The page sends tokens to no other API. */
export const ownApiUrl = new URL('../v1/', document.baseURI).href

export interface ApiAnswer {
  status: number
  isOk: boolean
  body: unknown
  /** the `data` of the body, if any */
  data: unknown
  /** `refused`: a refusal in a sentence; empty: the request succeeded */
  refused: string
  warnings: readonly string[]
  /** seconds after which the request may be repeated; undefined: no Retry-After */
  retryAfter: number | undefined
}

interface Question {
  /** default: POST with a body, else GET */
  method?: 'DELETE'
  body?: object
  token?: string
  /** milliseconds */
  timeout?: number
}

const ASK_TIMEOUT_MS = 40_000
const bodyShape = objectShape({}, { data: anyShape, errors: textArrayShape, warnings: textArrayShape })

/**
 * Sends one request: a GET without a body, else a POST, unless the question has a method.
 * @param api this cluster's API, or another cluster's, which gets no token
 * @throws Error if the API does not answer
 */
export async function askApi(api: string, path: string, question: Question = {}): Promise<ApiAnswer> {
  const { method, body, token = '', timeout = ASK_TIMEOUT_MS } = question
  const response = await fetch(api + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: token !== '' && api === ownApiUrl ? { 'X-Vault-Token': token } : {},
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(timeout),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const read = parseJson(await response.text())
  const retry = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfter = Number.isNaN(retry) ? undefined : retry
  const { data, errors = [], warnings = [] } = readShape(bodyShape, read).fields
  return {
    status: response.status,
    isOk: response.ok,
    body: read,
    data,
    refused: response.ok ? '' : describeRefusedAnswer({ status: response.status, errors, retryAfter }),
    warnings,
    retryAfter,
  }
}

/** Describes a failed request. */
export function faultText(error: unknown): string {
  const { name, message } = error as Error
  if (name === 'TimeoutError') return 'no answer in time'
  return name === 'TypeError'
    ? 'no connection, or the cluster does not allow this page to read its answer'
    : message
}
