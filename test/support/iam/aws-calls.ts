import { wireTransport } from '../../../shared/adapters/aws/wire/post.ts'
import type { WireItem } from '../tables/wire-values.ts'
import type { IamRequest } from './evaluate.ts'
import { refusal, refusedCall } from './judge.ts'
import { eventsRequest, invokeRequest, keyRequest, workflowRequest } from './requests.ts'

/** A request to AWS before it is sent. */
interface Sent {
  path: string
  headers: Record<string, string>
  body?: unknown
}

// biome-ignore lint/suspicious/noExplicitAny: inputs of several services
type Read = (operation: string, input: Record<string, any>) => readonly IamRequest[]

/** AWS services with JSON requests, by the beginning of their targets. */
const targets: Readonly<Record<string, Read>> = {
  TrentService: (operation, { EncryptionContext = {} }) => [
    keyRequest(operation, Object.keys(EncryptionContext)),
  ],
  AWSEvents: (_, { Entries = [] }) => [
    eventsRequest(Entries.map(({ Source }: { Source: string }) => Source)),
  ],
  AWSStepFunctions: (operation, { stateMachineArn = '' }) => [
    workflowRequest(operation, String(stateMachineArn).split(':cloud-auth-local-').at(-1) ?? ''),
  ],
}

const EVERYTHING = '*'

/** AWS services with form requests, by the version of their interface. */
const forms: Readonly<Record<string, string>> = {
  '2016-11-15': 'ec2',
  '2010-05-08': 'iam',
  '2011-06-15': 'sts',
}

/** An action that every caller with credentials may call, because no IAM policy can forbid it. */
const FREE = 'sts:GetCallerIdentity'

function formRequest(body: string): IamRequest[] {
  const form = new URLSearchParams(body)
  const service = forms[form.get('Version') ?? ''] ?? 'none'
  const action = `${service}:${form.get('Action')}`
  return action === FREE ? [] : [{ action, resource: form.get('RoleArn') ?? EVERYTHING, context: {} }]
}

/**
 * Returns why the policies refuse a request of the running function, or undefined if they allow it. Calls to
 * tables are checked here only when a real client makes them.
 */
function refusedRequest({ path, headers, body }: Sent): string | undefined {
  const [, name = '', operation = ''] = /^(\w+?)(?:_\d+)?\.(\w+)$/.exec(headers['x-amz-target'] ?? '') ?? []
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array | undefined)
  if (name === 'DynamoDB') {
    const input = JSON.parse(text) as Record<string, unknown> & WireItem
    return refusedCall({ operation, input })?.body.message
  }
  const read = targets[name]
  if (read) return refusal(...read(operation, JSON.parse(text)))
  const [, called] = /\/functions\/([^/]+)\/invocations/.exec(path) ?? []
  if (called !== undefined) return refusal(invokeRequest(decodeURIComponent(called)))
  return /^[\w.-]+=/.test(text) ? refusal(...formRequest(text)) : undefined
}

const worker = globalThis as { judgesAwsCalls?: true }

/**
 * Checks all further requests of this test worker with the functions' credentials against the policies of the
 * functions' roles.
 * @param accessKeyId access key of the functions; requests signed with other keys are not checked
 */
export function judgeAwsCalls(accessKeyId: () => string): void {
  if (worker.judgesAwsCalls) return
  worker.judgesAwsCalls = true
  const { post } = wireTransport
  wireTransport.post = (address, headers, body, ms, isOnce) => {
    const own = headers['authorization']?.includes(`Credential=${accessKeyId()}/`)
    const why = own ? refusedRequest({ path: address.path, headers, body }) : undefined
    return why === undefined
      ? post(address, headers, body, ms, isOnce)
      : Promise.reject(Object.assign(new Error(why), { name: 'AccessDeniedException' }))
  }
}
