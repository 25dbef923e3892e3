import { isObject } from '../../../shared/values/json.ts'
import { CommandEnded } from '../ended.ts'
import { type ApiRequestOptions, type ApiResponse, exchangeApiRequest } from '../exchange.ts'
import { escapeToOneLine } from '../output.ts'
import { nameInRun } from './names.ts'
import { pollDelay, type TeardownClock } from './pace.ts'

/*
 * The calls of a run to the Kubernetes API of an EKS cluster. The API is a server that the command does not trust: its
 * answers are bounded in time and size, redirects are refused, and its texts are escaped.
 */

/** The access to the Kubernetes API of a cluster. */
export interface KubernetesAccess {
  /** origin of the API, https */
  endpoint: string
  /** certificate of the cluster's CA, PEM; no other CA is trusted */
  ca: string
  /** creates a bearer token for the next request */
  createToken(): Promise<string>
}

const TIMEOUT_MS = 20_000
const MOST_BYTES = 2 ** 20
const MOST_TEXT = 300

/** Label of all that a run makes in a cluster. The label's value is the run. */
export const RUN_LABEL = 'cloud-auth/prove'

/** Prepares a text of the cluster for a message. */
export const quoteText = (text: unknown): string => escapeToOneLine(String(text).slice(0, MOST_TEXT))

/**
 * Sends a request to the Kubernetes API.
 * @param statuses statuses of the answer that the caller handles
 * @throws Error for any other status; CommandEnded `unreachable` without an answer
 */
export async function requestKubernetes(
  { endpoint, ca, createToken }: KubernetesAccess,
  path: string,
  statuses: readonly number[],
  { method = 'GET', body }: Pick<ApiRequestOptions, 'method' | 'body'> = {},
): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${await createToken()}`, accept: 'application/json, */*' }
  const asking = { method, headers, ...(body === undefined ? {} : { body }) }
  const connection = { ca: [ca], timeoutMs: TIMEOUT_MS }
  const answer = await exchangeApiRequest(new URL(endpoint + path), asking, connection, MOST_BYTES)
  if (statuses.includes(answer.status)) return answer
  const { message = 'no message' } = answer.body
  throw new Error(
    `Kubernetes answered ${answer.status} to ${method} ${path.split('?')[0]}: ${quoteText(message)}`,
  )
}

interface NeededRight {
  verb: 'create' | 'get' | 'delete' | 'list'
  group: '' | 'batch'
  resource: string
  subresource?: string
}

/** The rights that the credentials of a run need in the cluster. */
export const neededRights: readonly NeededRight[] = [
  { verb: 'get', group: '', resource: 'namespaces' },
  { verb: 'create', group: '', resource: 'namespaces' },
  { verb: 'delete', group: '', resource: 'namespaces' },
  { verb: 'create', group: '', resource: 'serviceaccounts' },
  { verb: 'create', group: 'batch', resource: 'jobs' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'get', group: '', resource: 'pods', subresource: 'log' },
]

/**
 * Checks before a run that the cluster answers, and allows what the run needs.
 * @throws CommandEnded `refused` for a missing right, or `unreachable`
 */
export async function checkRights(run: string, name: string, access: KubernetesAccess): Promise<void> {
  const refuse = (why: string) =>
    new CommandEnded('refused', `the EKS cluster ${name} ${why}. Nothing was made`)
  for (const right of neededRights) {
    const resourceAttributes = { namespace: nameInRun(run, 'namespace'), ...right }
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    }
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const answer = await requestKubernetes(access, path, [201, 401, 403], { method: 'POST', body })
    if (answer.status !== 201) throw refuse('does not know the caller, who needs an EKS access entry')
    const { status } = answer.body
    if (!isObject(status) || status['allowed'] !== true) {
      const what = [right.resource, ...(right.subresource ? [right.subresource] : [])].join('/')
      throw refuse(`does not allow the caller to ${right.verb} ${what}`)
    }
  }
}

interface FoundNamespace {
  uid: string
  /** the run that made the namespace, by its label */
  run: unknown
}

/** Finds a namespace. @throws Error if the answer is malformed */
export async function findNamespace(
  access: KubernetesAccess,
  name: string,
): Promise<FoundNamespace | undefined> {
  const { status, body } = await requestKubernetes(access, `/api/v1/namespaces/${name}`, [200, 404])
  if (status === 404) return undefined
  const { name: found, uid, labels } = isObject(body['metadata']) ? body['metadata'] : {}
  if (found !== name || typeof uid !== 'string' || uid === '')
    throw new Error(`Kubernetes gave a malformed answer about the namespace ${name}`)
  return { uid, run: isObject(labels) ? labels[RUN_LABEL] : undefined }
}

const NAMESPACE_LIMIT_MS = 180_000

/**
 * Deletes the namespace of a run if it has the run's label.
 * @param access undefined: the cluster does not exist any more
 * @returns why the namespace is left, or undefined
 */
export async function deleteNamespaceOfRun(
  run: string,
  access: KubernetesAccess | undefined,
  { sleep, now }: TeardownClock,
): Promise<string | undefined> {
  const name = nameInRun(run, 'namespace')
  const first = access && (await findNamespace(access, name))
  if (access === undefined || first === undefined) return undefined
  if (first.run !== run) return `the namespace does not have the label ${RUN_LABEL}=${run}`
  // the condition protects a namespace that somebody else has made under this name since
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: first.uid } }
  const end = now() + NAMESPACE_LIMIT_MS
  await requestKubernetes(access, `/api/v1/namespaces/${name}`, [200, 202, 404, 409], {
    method: 'DELETE',
    body,
  })
  for (let tries = 0; ; tries++) {
    const found = await findNamespace(access, name)
    if (found === undefined) return undefined
    if (found.uid !== first.uid) return 'somebody else made a namespace of this name'
    if (now() > end)
      return `Kubernetes has not deleted the namespace within ${NAMESPACE_LIMIT_MS / 1000} seconds`
    await sleep(pollDelay(tries))
  }
}
