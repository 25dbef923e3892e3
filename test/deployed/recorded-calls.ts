import type { IamRequest } from '../support/iam/evaluate.ts'
import { EMULATED } from './emulator.ts'

const { account, region } = EMULATED
const arn = (service: string, resource: string): string =>
  `arn:aws:${service}:${region}:${account}:${resource}`

/** Returns the name on AWS of a log group. The emulator names log groups in another way. */
const logGroupOnAws = (name: string): string =>
  name.replace(/^\/aws\/cloudformation\/([\w-]+)\/(\w+)$/, '$1-$2-0123456789AB')

interface SentCall {
  service: string
  method: string
  url: URL
  headers: Headers
  body: string
}

/** What IAM calls the requests of each service that the command calls. */
const readers: Readonly<Record<string, (call: SentCall) => Pick<IamRequest, 'action' | 'resource'>>> = {
  cloudformation: ({ body }) => {
    const form = new URLSearchParams(body)
    const resource = arn('cloudformation', `stack/${form.get('StackName')}/0`)
    return { action: `cloudformation:${form.get('Action')}`, resource }
  },
  ec2: ({ body }) => ({ action: `ec2:${new URLSearchParams(body).get('Action')}`, resource: '*' }),
  eks: ({ url }) => {
    const [, name = ''] = /^\/clusters\/([^/]+)$/.exec(url.pathname) ?? []
    return { action: 'eks:DescribeCluster', resource: arn('eks', `cluster/${name}`) }
  },
  lambda: ({ url }) => {
    const [, name = ''] = /\/functions\/([^/]+)\/invocations$/.exec(url.pathname) ?? []
    return { action: 'lambda:InvokeFunction', resource: arn('lambda', `function:${name}`) }
  },
  logs: ({ headers, body }) => {
    const group = logGroupOnAws(JSON.parse(body).logGroupName)
    const action = headers.get('x-amz-target')?.split('.')[1]
    return { action: `logs:${action}`, resource: arn('logs', `log-group:${group}:*`) }
  },
  s3: ({ method, url }) => {
    const action = { PUT: 'PutObject', DELETE: 'DeleteObject', GET: 'ListBucket' }[method]
    return { action: `s3:${action}`, resource: `arn:aws:s3:::${url.pathname.slice(1)}` }
  },
  sts: ({ body }) => ({ action: `sts:${new URLSearchParams(body).get('Action')}`, resource: '*' }),
}

/** Reads a signed request as IAM sees it. @returns undefined for a request without a signature */
function readSignedRequest(
  input: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): IamRequest | undefined {
  const headers = new Headers(init.headers)
  const [, service] = /Credential=[^/]+\/\d+\/[\w-]+\/(\w+)\//.exec(headers.get('authorization') ?? '') ?? []
  if (service === undefined) return undefined
  const body = typeof init.body === 'string' ? init.body : ''
  const call = { service, method: init.method ?? 'GET', url: new URL(String(input)), headers, body }
  const read = readers[service]?.(call)
  if (read === undefined) throw new Error(`the service ${service} has no reader`)
  return { ...read, context: {} }
}

/** Records the signed requests that this process sends by `fetch`. @returns the requests so far, by action and resource */
export function recordSignedRequests(): ReadonlyMap<string, IamRequest> {
  const recorded = new Map<string, IamRequest>()
  const send = globalThis.fetch
  globalThis.fetch = (input, init) => {
    const request = readSignedRequest(input, init)
    if (request) recorded.set(`${request.action} ${request.resource}`, request)
    return send(input, init)
  }
  return recorded
}
