import { createHash, randomUUID } from 'node:crypto'
import type { Context } from 'aws-lambda'
import type { HttpApiAnswer, HttpEvent } from '../../../shared/front/http-api.ts'
import { serveWebFunction } from '../../../shared/front/web-function.ts'
import { type CallOptions, call, type Reply } from './api.ts'

const SECRET = 'what the distribution shows its origins'

/** Variables of a function that takes requests from the CloudFront distribution only. */
export const behindDistribution = {
  PROXY_SECRETS: createHash('sha256').update(SECRET).digest('hex'),
  PROXY_HOPS: '1',
}

/** The address of a CloudFront edge, as the Web Function sees it. */
const EDGE = '192.0.2.44'

/** The host name of the function URL, which CloudFront calls. */
const ENDPOINT = 'bcdfghjklmnpqrst.b7t.lambda-web.us-east-1.on.aws'

/** Headers that Lambda does not let a caller set. */
const LAMBDAS_OWN = /^(lambda-web-|x-real-ip$|x-http-method|x-method-override$)/

/** Returns the headers of a request after the distribution and Lambda's function URL have changed them. */
export function headersBehind(
  headers: Readonly<Record<string, string>>,
  from: string,
): Record<string, string> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const kept = Object.fromEntries(lower.filter(([name]) => !LAMBDAS_OWN.test(name)))
  return {
    ...kept,
    host: ENDPOINT,
    'x-origin-secret': SECRET,
    'x-forwarded-for': [kept['x-forwarded-for'], from, EDGE].filter(Boolean).join(', '),
    'lambda-web-request-id': randomUUID(),
  }
}

/** A Web Function and its CloudFront distribution. */
export interface WebFront {
  /** URL of the Web Function, which only the distribution should call */
  url: string
  /** calls the Web Function through the distribution */
  call(method: string, path: string, body: unknown, options: CallOptions): Promise<Reply>
}

/** Serves a handler as a Web Function. */
export async function webFrontOf(
  handler: (event: HttpEvent, context: Context) => Promise<HttpApiAnswer>,
): Promise<WebFront> {
  const { url } = await serveWebFunction(handler, { host: '127.0.0.1', port: 0 })
  return {
    url,
    call: (method, path, body, { from = '127.0.0.1', headers = {}, ...more }) =>
      call(`${url}/v1`, method, path, body, { ...more, headers: headersBehind(headers, from) }),
  }
}
