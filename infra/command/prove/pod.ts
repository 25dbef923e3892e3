import { isObject, parseJsonObject } from '../../../shared/values/json.ts'
import type { ProveJournal } from './journal.ts'
import {
  findNamespace,
  type KubernetesAccess,
  quoteText,
  RUN_LABEL,
  requestKubernetes,
} from './kubernetes.ts'
import { describeLogins, LOGINS, listOf } from './logins.ts'
import { nameInRun } from './names.ts'
import { type Pace, pollDelay } from './pace.ts'
import { POD_CODE, POD_SERVICE_ACCOUNT, PROBE_ROLES } from './probe-stack.ts'
import type { Probe } from './probes.ts'

/*
 * The login from a pod of an EKS cluster. A Job in the namespace of the run runs the code of the probe function with
 * the credentials of EKS Pod Identity. The run reads the result from the pod's log.
 */

/** An EKS cluster of a run, for its probe. */
export interface ProvedPod {
  run: string
  /** base URL of the run's cluster, to which the pod logs in */
  address: string
  pace: Pace
  /** makes the stack `pod`, or finds the stack that an earlier process made */
  openStack(): Promise<unknown>
  openKubernetes(): Promise<KubernetesAccess>
  journal: Pick<ProveJournal, 'makes'>
  /** deletes the namespace of the run. @throws Error if the namespace is left */
  removeNamespace(): Promise<void>
  say(text: string): void
}

/** A small image with Node for Arm and x86, because the pod runs the code of the probe function. */
const IMAGE = 'public.ecr.aws/docker/library/node:24-alpine'
/** Time until Kubernetes ends the Job, which includes the download of the image. */
const JOB_LIMIT_S = 300
/** Time until Kubernetes deletes a Job that has ended. */
const JOB_KEPT_S = 300
/** Attempts, because a new association can be unknown to the cluster for some seconds. */
const ATTEMPTS = 3
const MOST_LOG_BYTES = 2 ** 16
const POD_NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/

/** Returns the manifest of a Job with one pod that logs in. */
export const buildJob = (run: string, name: string, address: string) => {
  const labels = { [RUN_LABEL]: run }
  const event = JSON.stringify({ address, role: PROBE_ROLES.pod, times: LOGINS })
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: JOB_LIMIT_S,
      ttlSecondsAfterFinished: JOB_KEPT_S,
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: POD_SERVICE_ACCOUNT,
          // the pod needs no access to Kubernetes
          automountServiceAccountToken: false,
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1000,
            runAsGroup: 1000,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'probe',
              image: IMAGE,
              command: ['node', '-e', POD_CODE],
              env: [{ name: 'EVENT', value: event }],
              resources: {
                requests: { cpu: '100m', memory: '128Mi' },
                limits: { cpu: '1', memory: '256Mi' },
              },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
        },
      },
    },
  }
}

/** @throws Error if a namespace has the name of the run's namespace */
async function refuseExistingNamespace(name: string, access: KubernetesAccess): Promise<void> {
  if (await findNamespace(access, name)) throw new Error(`the namespace ${name} exists already`)
}

/** Makes the namespace of the run, which the journal names first, and the service account. */
async function makeNamespace({ run, journal, say }: ProvedPod, access: KubernetesAccess): Promise<void> {
  const name = nameInRun(run, 'namespace')
  const metadata = { labels: { [RUN_LABEL]: run, 'pod-security.kubernetes.io/enforce': 'restricted' } }
  const create = (path: string, body: object) =>
    requestKubernetes(access, path, [201], { method: 'POST', body: { apiVersion: 'v1', ...body } })
  journal.makes('namespace')
  say(`creating the namespace ${name}`)
  await create('/api/v1/namespaces', { kind: 'Namespace', metadata: { name, ...metadata } })
  await create(`/api/v1/namespaces/${name}/serviceaccounts`, {
    kind: 'ServiceAccount',
    metadata: { name: POD_SERVICE_ACCOUNT, labels: { [RUN_LABEL]: run } },
    automountServiceAccountToken: false,
  })
}

interface PodState {
  name: string
  hasEnded: boolean
  /** why the pod does not run yet; empty: it runs */
  waiting: string
}

const objectIn = (parent: unknown, key: string): Record<string, unknown> => {
  const value = isObject(parent) ? parent[key] : undefined
  return isObject(value) ? value : {}
}

/** Reads the pod of a Job from a list. @returns undefined if the list is empty. @throws Error for a malformed pod */
function readPod(list: unknown): PodState | undefined {
  const [pod] = listOf(objectIn({ list }, 'list')['items'])
  if (pod === undefined) return undefined
  const { name } = objectIn(pod, 'metadata')
  const status = objectIn(pod, 'status')
  if (typeof name !== 'string' || !POD_NAME.test(name)) throw new Error('Kubernetes listed a malformed pod')
  const [container] = listOf(status['containerStatuses'])
  const unscheduled = listOf(status['conditions']).find(
    one => one['type'] === 'PodScheduled' && one['status'] === 'False',
  )
  const waiting = objectIn(objectIn(container, 'state'), 'waiting')['reason'] ?? unscheduled?.['message']
  return {
    name,
    hasEnded: status['phase'] === 'Succeeded' || status['phase'] === 'Failed',
    waiting: waiting === undefined ? '' : quoteText(waiting),
  }
}

/** Waits until the pod of a Job has ended. @returns its name. @throws Error with the last reason for waiting */
async function awaitPod(pods: string, job: string, access: KubernetesAccess, pace: Pace): Promise<string> {
  const end = pace.elapsed() + JOB_LIMIT_S * 1000
  let why = 'the Job made no pod'
  for (let tries = 0; ; tries++) {
    const { body } = await requestKubernetes(access, `${pods}?labelSelector=job-name%3D${job}`, [200])
    const pod = readPod(body)
    if (pod?.hasEnded) return pod.name
    if (pod) why = pod.waiting || 'the pod did not end'
    if (pace.elapsed() > end) throw new Error(`no login from a pod within ${JOB_LIMIT_S} seconds: ${why}`)
    await pace.sleep(pollDelay(tries))
  }
}

/** Returns the result in a pod's log: a line of JSON with logins or with a fault. Other lines are ignored. */
function findResult(log: string): Record<string, unknown> | undefined {
  return log
    .split('\n')
    .map(parseJsonObject)
    .findLast(
      line => line !== undefined && (Array.isArray(line['logins']) || typeof line['fault'] === 'string'),
    )
}

/** Runs a Job. @returns the result in its pod's log. @throws Error if the log has no result */
async function runJob({ run, address, pace }: ProvedPod, access: KubernetesAccess, job: string) {
  const namespace = nameInRun(run, 'namespace')
  const body = buildJob(run, job, address)
  await requestKubernetes(access, `/apis/batch/v1/namespaces/${namespace}/jobs`, [201], {
    method: 'POST',
    body,
  })
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const pod = await awaitPod(pods, job, access, pace)
  const path = `${pods}/${pod}/log?container=probe&limitBytes=${MOST_LOG_BYTES}`
  const { text } = await requestKubernetes(access, path, [200])
  const result = findResult(text)
  if (result === undefined) throw new Error('the log of the pod has no result')
  return result
}

/** Logs in from a pod. @throws Error if the pod cannot log in */
async function logInFromPod(pod: ProvedPod, access: KubernetesAccess) {
  for (let attempt = 1; ; attempt++) {
    const result = await runJob(pod, access, `probe-${attempt}`)
    if (result['fault'] === undefined)
      return describeLogins(result, 'a pod with EKS Pod Identity', 'an EKS pod')
    if (attempt >= ATTEMPTS) throw new Error(`the pod got no credentials: ${quoteText(result['fault'])}`)
    pod.say(`the pod got no credentials yet: ${quoteText(result['fault'])}`)
    await pod.pace.sleep(pollDelay(attempt + 1))
  }
}

/** The claim that a run with an EKS cluster checks. */
export const podProbes: Readonly<Record<string, Probe<ProvedPod>>> = {
  'pod-identity': async pod => {
    await pod.openStack()
    const access = await pod.openKubernetes()
    await refuseExistingNamespace(nameInRun(pod.run, 'namespace'), access)
    try {
      await makeNamespace(pod, access)
      return await logInFromPod(pod, access)
    } finally {
      // a namespace that is left is deleted by the teardown, or reported
      await pod.removeNamespace().catch((error: Error) => pod.say(error.message))
    }
  },
}
