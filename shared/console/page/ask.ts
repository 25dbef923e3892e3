import { parsedJson } from '../../values/json.ts'
import { readShape } from '../../values/read-shape.ts'
import { anyValue, object, texts } from '../../values/shape.ts'

/** The API of the cluster that has served this page: the only one that is ever sent a token. */
export const ownApi = new URL('../v1/', document.baseURI).href

export interface ApiAnswer {
  status: number
  isOk: boolean
  body: unknown
  /** the `data` of a body that has some */
  data: unknown
  /** why it was refused; empty: it was not */
  refused: string
  warnings: readonly string[]
  /** seconds after which it may be asked again; undefined: it does not say */
  retryAfter: number | undefined
}

interface Question {
  body?: object
  token?: string
  /** milliseconds */
  timeout?: number
}

const TIMEOUT_MS = 40_000
const bodyShape = object({}, { data: anyValue, errors: texts, warnings: texts })

/**
 * One call of an API. A read without a body, else a write.
 * @param api where it is: this cluster's own, or another one's, which gets no token
 * @throws Error where no answer comes
 */
export async function askApi(api: string, path: string, question: Question = {}): Promise<ApiAnswer> {
  const { body, token = '', timeout = TIMEOUT_MS } = question
  const response = await fetch(api + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: token !== '' && api === ownApi ? { 'X-Vault-Token': token } : {},
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(timeout),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const read = parsedJson(await response.text())
  const retry = Number(response.headers.get('retry-after') ?? Number.NaN)
  const { data, errors = [], warnings = [] } = readShape(bodyShape, read).fields
  return {
    status: response.status,
    isOk: response.ok,
    body: read,
    data,
    refused: response.ok ? '' : `${response.status}: ${errors.join('; ') || 'it says no more'}`,
    warnings,
    retryAfter: Number.isNaN(retry) ? undefined : retry,
  }
}

/** A failure in words. */
export function faultText(error: unknown): string {
  const { name, message } = error as Error
  if (name === 'TimeoutError') return 'no answer in time'
  return name === 'TypeError' ? 'no connection, or it does not let this page read its answer' : message
}
