import { randomUUID } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { buildFlaggedGetLine } from '../../../infra/local/gateway/list-verb.ts'
import type { FrontEventShape } from '../../../infra/local/gateway/shapes.ts'
import { HOME_ACCOUNT } from '../../../infra/local/provider/home.ts'
import {
  createGatewayAnswer,
  decodePath,
  peerAddressOf,
  splitRequestTarget,
  toEventBody,
  toSentAnswer,
} from '../../../shared/front/http-api.ts'

const MEGABYTE = 1024 * 1024

/** Returns the header names in lower case, each with its values. */
const listsOf = ({ headersDistinct }: IncomingMessage): Record<string, string[]> =>
  Object.fromEntries(Object.entries(headersDistinct).map(([name, values]) => [name, values ?? []]))

/**
 * Events of payload version 1.0. Paths are below a stage and still encoded; the query is decoded. LIST becomes the
 * query flag.
 */
export const restApiShape = (stage: string): FrontEventShape => ({
  limits: { head: 10_240, body: 10 * MEGABYTE },
  faults: { late: 504, failed: 502 },
  list: buildFlaggedGetLine,
  own: status => toSentAnswer(createGatewayAnswer(status)),
  read: (request, body) => {
    const target = splitRequestTarget(request)
    const method = request.method ?? 'GET'
    const lists = asSent(request)
    const headers = lasts(lists)
    const many = listedQuery([...new URLSearchParams(target.query)])
    const isBelow = target.path === `/${stage}` || target.path.startsWith(`/${stage}/`)
    const path = isBelow ? target.path.slice(stage.length + 1) || '/' : undefined
    const event = {
      resource: '/{proxy+}',
      path,
      httpMethod: method,
      headers,
      multiValueHeaders: lists,
      queryStringParameters: many && lasts(many),
      multiValueQueryStringParameters: many,
      pathParameters: null,
      stageVariables: null,
      requestContext: {
        accountId: HOME_ACCOUNT.account,
        apiId: 'local',
        domainName: request.headers.host ?? 'localhost',
        httpMethod: method,
        identity: { sourceIp: peerAddressOf(request), userAgent: request.headers['user-agent'] ?? '' },
        path: target.path,
        protocol: `HTTP/${request.httpVersion}`,
        requestId: randomUUID(),
        stage,
      },
      // an API without binary media types passes all bodies as text
      body: body.length > 0 ? body.toString('utf8') : null,
      isBase64Encoded: false,
    }
    return { method, path, whole: decodePath(target.path), event }
  },
  answered: answer => ({
    ...toSentAnswer(answer),
    headers: { ...answer.headers, ...answer.multiValueHeaders },
  }),
})

/** Returns the header names as they were sent, each with its values. */
function asSent({ rawHeaders }: IncomingMessage): Record<string, string[]> {
  const lists: Record<string, string[]> = Object.create(null)
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    lists[name] = [...(lists[name] ?? []), rawHeaders[at + 1] ?? '']
  }
  return { ...lists }
}

const lasts = (lists: Readonly<Record<string, string[]>>): Record<string, string> =>
  Object.fromEntries(Object.entries(lists).map(([name, values]) => [name, values.at(-1) ?? '']))

function listedQuery(pairs: readonly (readonly [string, string])[]): Record<string, string[]> | null {
  if (pairs.length === 0) return null
  const lists = Map.groupBy(pairs, ([name]) => name)
  return Object.fromEntries([...lists].map(([name, own]) => [name, own.map(([, value]) => value)]))
}

/** Header that marks a former LIST. Its name is random, so that clients cannot send it. */
const LISTED = `x-${randomUUID()}`

/** Media types that a load balancer passes on as text. */
const BALANCED_TEXT = /^(text\/|application\/(json|xml|javascript)\b)/i

/**
 * Events of a load balancer with multi-value headers: path and query unchanged, 1 MB in each direction. LIST passes
 * unchanged.
 * @see https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html
 */
export const balancerShape: FrontEventShape = {
  limits: { head: 65_536, body: MEGABYTE },
  faults: { late: 502, failed: 502 },
  list: (path, query, version) => `GET ${path}${query ? `?${query}` : ''} ${version}\r\n${LISTED}: yes`,
  own: status => ({
    status,
    headers: { 'content-type': 'text/html' },
    payload: Buffer.from(`<h1>${status} ${STATUS_CODES[status] ?? ''}</h1>`),
  }),
  read: (request, body) => {
    const target = splitRequestTarget(request)
    const { [LISTED]: listed, ...all } = listsOf(request)
    const method = listed ? 'LIST' : (request.method ?? 'GET')
    // the load balancer drops headers with invalid names and appends its caller's address
    const lists = Object.fromEntries(Object.entries(all).filter(([name]) => /^[a-z0-9-]+$/.test(name)))
    lists['x-forwarded-for'] = [[...(lists['x-forwarded-for'] ?? []), peerAddressOf(request)].join(', ')]
    lists['x-amzn-trace-id'] = [`Root=1-${Math.floor(Date.now() / 1000).toString(16)}-${randomUUID()}`]
    const isText = BALANCED_TEXT.test(lists['content-type']?.[0] ?? 'text/plain')
    const pairs = target.query.split('&').filter(part => part !== '')
    const event = {
      requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:local' } },
      httpMethod: method,
      path: target.path,
      multiValueQueryStringParameters:
        listedQuery(
          pairs.map(part => {
            const [name = '', value = ''] = part.split(/=(.*)/s)
            return [name, value] as const
          }),
        ) ?? {},
      multiValueHeaders: lists,
      body: '',
      ...toEventBody(body, isText),
    }
    return { method, path: target.path, whole: decodePath(target.path), event }
  },
  answered: answer => {
    if (Buffer.byteLength(JSON.stringify(answer)) > MEGABYTE)
      throw new Error('the response is larger than a megabyte')
    return { ...toSentAnswer(answer), headers: answer.multiValueHeaders ?? {} }
  },
}
