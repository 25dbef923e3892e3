import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { buildJob } from '../../../../../infra/command/prove/pod.ts'
import { createLocalAuthority } from '../../../../../infra/local/gateway/tls.ts'
import type { PodContainer } from '../../../../support/programs/pod.ts'

interface Named {
  metadata: { name: string; uid?: string; labels?: Record<string, string> }
}
type Job = ReturnType<typeof buildJob>
type Answer = readonly [status: number, body: object | string]

const authority = createLocalAuthority('cluster of the test')

/** The log of a pod that logs in 20 times. */
export const SERVED_LOG = `a warning of the runtime\n${JSON.stringify({
  logins: Array.from({ length: 20 }, () => ({ status: 200, ms: 9, token: true })),
})}\n`

/** The Kubernetes API of an EKS cluster: an HTTPS server with a CA of its own, and the objects in memory. */
export class KubernetesInMemory {
  readonly namespaces = new Map<string, Named>()
  readonly accounts: string[] = []
  readonly jobs: { job: Job; log: string }[] = []
  /** requests: method, and path without query */
  readonly requests: string[] = []
  readonly authorizations = new Set<string | undefined>()
  /** called before each request; the answer that it returns replaces the server's answer */
  before: (request: string) => Answer | undefined = () => undefined
  /** runs the container of a pod, and returns its log */
  runPod: (container: PodContainer) => Promise<string> | string = () => SERVED_LOG
  /** status of pods, in place of the status of a pod that has ended */
  podStatus: object = { phase: 'Succeeded' }
  /** whether a deleted namespace stays until this is false */
  isTerminating = false
  private made = 0
  private readonly server = createServer(authority.issue('localhost'), (request, response) => {
    void this.serve(request, response)
  })

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.server.listen(0, '127.0.0.1', resolve))
  }

  stop(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  /** Returns the access to the cluster, as EKS describes it. */
  access() {
    const { port } = this.server.address() as AddressInfo
    return {
      endpoint: `https://127.0.0.1:${port}`,
      ca: authority.cert,
      createToken: async () => 'the-bearer-token',
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const part of request) body += String(part)
    const { pathname } = new URL(request.url ?? '', 'https://cluster')
    const name = `${request.method} ${pathname}`
    this.requests.push(name)
    this.authorizations.add(request.headers.authorization)
    const [status, answer] = this.before(name) ?? (await this.answer(name, request.url ?? '', body))
    const headers = status >= 300 && status < 400 ? { location: 'https://elsewhere.example.com/' } : {}
    response.writeHead(status, headers).end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  }

  private async answer(request: string, url: string, body: string): Promise<Answer> {
    const sent = body === '' ? undefined : JSON.parse(body)
    const [, namespace = '', rest = ''] = /\/namespaces\/([^/]+)(.*)$/.exec(request) ?? []
    const [method] = request.split(' ')
    if (request.endsWith('/selfsubjectaccessreviews')) return [201, { status: { allowed: true } }]
    if (request === 'POST /api/v1/namespaces') return this.create(sent)
    const found = this.namespaces.get(namespace)
    if (found === undefined) return [404, { message: `namespaces "${namespace}" not found` }]
    if (rest === '' && method === 'DELETE') return this.delete(found, sent.preconditions.uid)
    if (rest === '') return [200, found]
    if (method === 'POST' && rest === '/serviceaccounts') {
      this.accounts.push(sent.metadata.name)
      return [201, sent]
    }
    if (method === 'POST' && rest === '/jobs') {
      const [container] = sent.spec.template.spec.containers
      this.jobs.push({ job: sent, log: await this.runPod(container) })
      return [201, sent]
    }
    const { job, log } = this.jobs.at(-1) ?? { job: undefined, log: '' }
    const pod = `${job?.metadata.name}-x7k2p`
    if (rest === '/pods' && url.includes(`labelSelector=job-name%3D${job?.metadata.name}`))
      return [200, { items: [{ metadata: { name: pod }, status: this.podStatus }] }]
    if (rest === `/pods/${pod}/log`) return [200, log]
    return [404, { message: 'not found' }]
  }

  private create(sent: Named): Answer {
    if (this.namespaces.has(sent.metadata.name)) return [409, { message: 'exists' }]
    this.made++
    const made = { ...sent, metadata: { ...sent.metadata, uid: `uid-${this.made}` } }
    this.namespaces.set(sent.metadata.name, made)
    return [201, made]
  }

  private delete({ metadata }: Named, uid: string): Answer {
    if (metadata.uid !== uid) return [409, { message: 'the precondition failed' }]
    if (!this.isTerminating) this.namespaces.delete(metadata.name)
    return [200, {}]
  }
}
