import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { podProbes } from '../../../../../infra/command/prove/pod.ts'
import { type ProbeResults, runProbes } from '../../../../../infra/command/prove/probes.ts'
import { KubernetesInMemory, SERVED_LOG } from './kubernetes-in-memory.ts'

const RUN = '0a1b2c3d'
const NAMESPACE = `cloud-auth-prove-${RUN}`
let kubernetes: KubernetesInMemory
let said: string[]

beforeEach(async () => {
  kubernetes = new KubernetesInMemory()
  said = []
  await kubernetes.start()
})
afterEach(() => kubernetes.stop())

/** Runs the probe with a clock of the test. @returns the row, and the time that passed */
async function runProbe() {
  let elapsed = 0
  const results: ProbeResults = { rows: [], measured: {} }
  const sleep = async (ms: number) => {
    elapsed += ms
  }
  const pod = {
    run: RUN,
    address: 'https://api.example.com/v1',
    pace: { elapsed: () => elapsed, check: () => undefined, sleep },
    openStack: async () => undefined,
    openKubernetes: async () => kubernetes.access(),
    journal: { makes: () => undefined },
    removeNamespace: async () => void kubernetes.namespaces.clear(),
    say: (text: string) => void said.push(text),
  }
  await runProbes(podProbes, pod, results, pod.say)
  return { row: results.rows[0], elapsed, measured: results.measured }
}

/** Answers a request in place of the cluster. */
const answerFor = (pattern: RegExp, answer: readonly [number, object | string]) => {
  kubernetes.before = request => (pattern.test(request) ? answer : undefined)
}

describe('the login from a pod', () => {
  test('runs in a pod that is restricted, limited, and has no access to Kubernetes', async () => {
    expect((await runProbe()).row).toMatchObject({ result: 'held' })
    const { spec } = kubernetes.jobs[0]?.job ?? {}
    expect(spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 300, ttlSecondsAfterFinished: 300 })
    const { spec: pod, metadata } = spec?.template ?? {}
    expect(metadata?.labels).toEqual({ 'cloud-auth/prove': RUN })
    expect(pod).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(pod?.containers[0]).toMatchObject({
      resources: { limits: { memory: '256Mi' } },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    })
  })

  test('runs in a namespace with the label of the run, whose pods must be restricted', async () => {
    let labels: object | undefined
    kubernetes.runPod = () => {
      labels = kubernetes.namespaces.get(NAMESPACE)?.metadata.labels
      return SERVED_LOG
    }
    await runProbe()
    expect(labels).toEqual({ 'cloud-auth/prove': RUN, 'pod-security.kubernetes.io/enforce': 'restricted' })
  })

  test('is repeated by further Jobs while the pod gets no credentials', async () => {
    const fault = '{"fault":"the agent answered 500"}'
    kubernetes.runPod = () => (kubernetes.jobs.length < 2 ? fault : SERVED_LOG)
    expect((await runProbe()).row).toMatchObject({ result: 'held' })
    expect(kubernetes.jobs.map(({ job }) => job.metadata.name)).toEqual(['probe-1', 'probe-2', 'probe-3'])
  })

  test('is broken after three Jobs without credentials', async () => {
    kubernetes.runPod = () => '{"fault":"the pod has no AWS_CONTAINER_CREDENTIALS_FULL_URI"}'
    expect((await runProbe()).row).toEqual({
      id: 'pod-identity',
      result: 'broken',
      note: 'the pod got no credentials: the pod has no AWS_CONTAINER_CREDENTIALS_FULL_URI',
    })
    expect(kubernetes.jobs).toHaveLength(3)
  })

  test.each([
    ['its image', { containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] }],
    [
      'a node',
      {
        conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes\u001b[2J are available' }],
      },
    ],
    ['its end', {}],
  ])('is broken when the pod waits for %s too long, and the row has the reason', async (_, status) => {
    kubernetes.podStatus = { phase: 'Pending', ...status }
    const { row, elapsed } = await runProbe()
    expect(row?.result).toBe('broken')
    expect(row?.note).toMatch(
      /^no login from a pod within 300 seconds: (ImagePullBackOff|0\/3 nodes\\u001b\[2J are available|the pod did not end)$/,
    )
    expect(elapsed).toBeLessThan(310_000)
  })

  test('is broken when the Job makes no pod', async () => {
    answerFor(/pods$/, [200, { items: [] }])
    expect((await runProbe()).row?.note).toMatch(/: the Job made no pod$/)
  })

  test('is broken when the cluster refuses some logins, and the row has an answer', async () => {
    const logins = [{ status: 400, ms: '<b>', token: false, errors: ['no\u202e such role'] }]
    kubernetes.runPod = () => JSON.stringify({ logins })
    expect((await runProbe()).row?.note).toMatch(/^0 of 20 .*no\\u202e such role/)
  })

  test.each([
    [/GET \/api\/v1\/namespaces\/[^/]+$/, [403, { message: 'no\u001b[2J' }], '403 to GET'],
    [/POST \/api\/v1\/namespaces$/, [403, { message: 'no\u001b[2J' }], '403 to POST'],
    [/serviceaccounts$/, [403, { message: 'no\u001b[2J' }], '403 to POST'],
    [/jobs$/, [403, { message: 'no\u001b[2J' }], '403 to POST'],
    [/pods$/, [403, { message: 'no\u001b[2J' }], '403 to GET'],
    [/log$/, [403, { message: 'no\u001b[2J'.repeat(1000) }], '403 to GET'],
    [/jobs$/, [307, {}], '307 to POST'],
    [/log$/, [200, 'Segmentation fault'], 'the log of the pod has no result'],
    [/log$/, [200, '{"logins":'], 'the log of the pod has no result'],
    [/log$/, [200, 'x'.repeat(2 ** 20 + 1)], 'the answer is too large'],
    [/pods$/, [200, { items: [{ metadata: { name: '../x' } }] }], 'a malformed pod'],
    [/GET \/api\/v1\/namespaces\/[^/]+$/, [200, { metadata: {} }], 'a malformed answer'],
  ] as const)('is broken when %s gets %j', async (pattern, answer, note) => {
    answerFor(pattern, answer)
    const { row } = await runProbe()
    expect(row).toMatchObject({ result: 'broken', note: expect.stringContaining(note) })
    expect(row?.note).not.toContain('\u001b')
    expect(row?.note.length).toBeLessThan(800)
    expect(kubernetes.namespaces.size).toBe(0)
  })
})
