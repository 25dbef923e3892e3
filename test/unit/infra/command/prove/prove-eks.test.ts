import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseProveJournal } from '../../../../../infra/command/prove/journal.ts'
import { listParts } from '../../../../../infra/command/prove/names.ts'
import { createLocalAuthority } from '../../../../../infra/local/gateway/tls.ts'
import { runContainer } from '../../../../support/programs/pod.ts'
import { AccountInMemory } from './account-in-memory.ts'
import { KubernetesInMemory, SERVED_LOG } from './kubernetes-in-memory.ts'
import { ACCOUNT, answerAsCluster, proveWorld } from './prove-world.ts'

const CLUSTER = 'shop-1'
const RUN = '0a1b2c3d'
let account: AccountInMemory
let kubernetes: KubernetesInMemory
/** roles of the logins that the server has received */
let loginRoles: string[]
/** keys of the agent's answer */
let agentKeys: string[]

/** Answers as a cluster, and as the agent of EKS Pod Identity. */
const answerTo = (path: string, method: string, body: string, authorization = ''): [number, object] => {
  if (path === '/agent') {
    agentKeys.push(authorization)
    return [200, { AccessKeyId: 'ASIAEXAMPLE', SecretAccessKey: 'the-secret-key', Token: 'the-session' }]
  }
  if (path.endsWith('/login')) {
    loginRoles.push(JSON.parse(body).role)
    return [200, { auth: { client_token: 'the-login-token' } }]
  }
  return answerAsCluster(path, method)
}

beforeEach(async () => {
  account = new AccountInMemory()
  kubernetes = new KubernetesInMemory()
  await kubernetes.start()
  account.clusters.set(CLUSTER, kubernetes.access())
  loginRoles = []
  agentKeys = []
})
afterEach(() => kubernetes.stop())

const { world, start, origin, stateFolder, report, resultOf } = proveWorld(
  { eksCluster: CLUSTER },
  async () => account.open(ACCOUNT),
  answerTo,
)
const cleanUp = () => start({ isCleanup: true, eksCluster: undefined, release: undefined })

const journals = () => readdirSync(stateFolder())
const readJournal = () => parseProveJournal(readFileSync(`${stateFolder()}/${journals()[0]}`, 'utf8'))
const podRow = () => resultOf('pod-identity')
const leftBehind = () => [...account.stacks.keys(), ...kubernetes.namespaces.keys()]
const created = () => account.wanted.map(({ name }) => name.split('-').at(-1))

describe('cloud-auth prove --eks-cluster', () => {
  test('logs in from a pod, and leaves nothing in the account and in the cluster', async () => {
    expect(await start()).toBe('done')
    expect(podRow()).toEqual({
      id: 'pod-identity',
      result: 'held',
      note: '20 of 20 iam logins of a pod with EKS Pod Identity got a token',
    })
    expect(report()).toMatchObject({
      eksCluster: CLUSTER,
      measured: { 'iam login from an EKS pod, median': '9 ms' },
    })
    expect(report().remains).toEqual([expect.objectContaining({ what: 'KMS key a-key' })])
    expect(created()).toEqual(listParts({ eksCluster: CLUSTER }))
    expect([leftBehind(), journals()]).toEqual([[], []])
    expect(kubernetes.accounts).toEqual(['probe'])
    expect([...kubernetes.authorizations]).toEqual(['Bearer the-bearer-token'])
  })

  test('runs code in the pod that logs in with the credentials of the agent, and prints no secret', async () => {
    writeFileSync(`${world.folder}/pod-token`, 'the-pod-token\n')
    kubernetes.runPod = container =>
      runContainer(container, {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin()}/agent`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: `${world.folder}/pod-token`,
      })
    await start()
    expect(podRow()).toMatchObject({ result: 'held' })
    expect(loginRoles).toEqual(Array.from({ length: 20 }, () => 'prove-pod'))
    expect(agentKeys).toEqual(['the-pod-token'])
    const [{ log } = { log: '' }] = kubernetes.jobs
    expect([log, world.printed, ...world.said].join()).not.toMatch(
      /the-secret-key|the-session|the-login-token|the-pod-token|the-bearer-token/,
    )
  })

  test('binds the role of the pod to the IAM role of the association', async () => {
    await start()
    const template = JSON.parse(String(account.wanted.find(({ name }) => name.endsWith('-pod'))?.template))
    const { Association, Role } = template.Resources
    const { run } = report()
    expect(Association.Properties).toMatchObject({
      ClusterName: CLUSTER,
      Namespace: `cloud-auth-prove-${run}`,
      ServiceAccount: 'probe',
      RoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] },
    })
    expect(Object.keys(Role.Properties)).toEqual(['AssumeRolePolicyDocument'])
  })

  test('names the namespace in the journal before it asks for the namespace', async () => {
    const seen: unknown[] = []
    kubernetes.before = request => {
      if (request === 'POST /api/v1/namespaces') seen.push(readJournal()?.remaining.at(-1))
      return undefined
    }
    await start()
    expect(seen).toEqual(['namespace'])
  })

  test('tells in the plan what it makes in the cluster', async () => {
    expect(await start({ isDry: true })).toBe('done')
    expect(world.printed).toMatch(
      /In the EKS cluster shop-1 it makes the namespace cloud-auth-prove-[0-9a-f]{8} /,
    )
    expect(world.printed).toMatch(/-pod +a role for the pod/)
    expect([account.wanted, kubernetes.namespaces.size]).toEqual([[], 0])
  })

  test.each([
    ['an unknown cluster', 'other', undefined, 'no EKS cluster has the name other'],
    ['a missing access entry', CLUSTER, [401, {}], 'needs an EKS access entry'],
    ['a missing right', CLUSTER, [201, { status: {} }], 'does not allow the caller to get namespaces'],
    ['a redirect', CLUSTER, [307, {}], 'Kubernetes answered 307'],
    ['an endless answer', CLUSTER, [201, 'x'.repeat(2 ** 20 + 1)], 'the answer is too large'],
  ] as const)('refuses %s before it makes anything', async (_, eksCluster, answer, message) => {
    kubernetes.before = () => answer
    await expect(start({ eksCluster })).rejects.toThrow(message)
    expect([account.wanted, kubernetes.namespaces.size]).toEqual([[], 0])
  })

  test('refuses a server whose certificate is not of the cluster’s CA', async () => {
    const { cert: ca } = createLocalAuthority('another cluster')
    account.clusters.set(CLUSTER, { ...kubernetes.access(), ca })
    await expect(start()).rejects.toMatchObject({ exit: 'unreachable' })
    expect(kubernetes.requests).toEqual([])
  })

  test.each([
    ['an invalid name', { eksCluster: 'a/../b' }],
    ['--cleanup', { isCleanup: true }],
    ['--resume', { isResume: true, words: [RUN] }],
  ])('cannot be used with %s', async (_, more) => {
    await expect(start(more)).rejects.toMatchObject({ exit: 'usage' })
  })
})

const DENIED = [403, { message: 'denied' }] as const

describe('the teardown of a namespace', () => {
  /** Lets a namespace lose its label while the pod works. */
  const loseLabel = () => {
    kubernetes.runPod = () => {
      for (const one of kubernetes.namespaces.values()) one.metadata.labels = {}
      return SERVED_LOG
    }
  }

  test('keeps a namespace without the label of the run, reports it, and keeps the journal', async () => {
    loseLabel()
    expect(await start()).toBe('refused')
    expect(podRow()).toMatchObject({ result: 'held' })
    const [name] = kubernetes.namespaces.keys()
    expect(report().remains).toContainEqual({
      what: `namespace ${name}`,
      why: `the namespace does not have the label cloud-auth/prove=${report().run}`,
    })
    expect([leftBehind(), journals().length]).toEqual([[name], 1])
  })

  test('reports a refused deletion, deletes the rest, and lets a cleanup repeat it', async () => {
    kubernetes.before = request => (request.startsWith('DELETE') ? DENIED : undefined)
    expect(await start()).toBe('refused')
    const [name] = kubernetes.namespaces.keys()
    expect(report().remains).toContainEqual({
      what: `namespace ${name}`,
      why: expect.stringContaining('Kubernetes answered 403 to DELETE'),
    })
    expect(leftBehind()).toEqual([name])
    kubernetes.before = () => undefined
    expect(await cleanUp()).toBe('done')
    expect([leftBehind(), journals()]).toEqual([[], []])
  })

  test('waits until Kubernetes has deleted the namespace, before it deletes the stack `pod`', async () => {
    kubernetes.isTerminating = true
    const order: string[] = []
    kubernetes.before = request => {
      const reads = kubernetes.requests.filter(one => one === request).length
      if (kubernetes.requests.some(one => one.startsWith('DELETE')) && reads > 2) {
        kubernetes.namespaces.clear()
        order.push('namespace')
      }
      return undefined
    }
    account.before = call => void (/^delete .*-pod$/.test(call) && order.push('pod'))
    expect(await start()).toBe('done')
    expect(order).toEqual(['namespace', 'pod'])
  })

  test('does not delete a namespace that somebody made again under the same name', async () => {
    kubernetes.before = request => {
      if (request.startsWith('DELETE'))
        for (const { metadata } of kubernetes.namespaces.values())
          Object.assign(metadata, { uid: 'another', labels: {} })
      return undefined
    }
    expect(await start()).toBe('refused')
    expect(kubernetes.namespaces.size).toBe(1)
  })

  test('is complete when the EKS cluster does not exist any more', async () => {
    kubernetes.runPod = () => {
      account.clusters.clear()
      return SERVED_LOG
    }
    expect(await start()).toBe('done')
    expect([account.stacks.size, journals()]).toEqual([0, []])
  })
})

describe('a run whose pod cannot log in', () => {
  test('continues after a failure of the stack `pod`, and leaves nothing', async () => {
    account.failing.add('pod')
    expect(await start()).toBe('unwell')
    expect(podRow()).toMatchObject({ result: 'broken', note: expect.stringContaining('was not created') })
    expect([leftBehind(), journals()]).toEqual([[], []])
  })

  test.each(['POST /api/v1/namespaces$', 'POST .*/jobs$', 'GET .*/log$'])(
    'leaves nothing after a failure of %s',
    async pattern => {
      kubernetes.before = request => (new RegExp(pattern).test(request) ? DENIED : undefined)
      expect(await start()).toBe('unwell')
      expect(podRow()).toMatchObject({ result: 'broken' })
      expect([leftBehind(), journals()]).toEqual([[], []])
    },
  )

  test('leaves a namespace alone that exists already', async () => {
    account.before = call => {
      const [, name] = /^create (.*)-pod$/.exec(call) ?? []
      const metadata = { name: name ?? '', uid: 'foreign', labels: { 'cloud-auth/prove': '00000000' } }
      if (name) kubernetes.namespaces.set(name, { metadata })
    }
    expect(await start()).toBe('unwell')
    expect(podRow().note).toMatch(/^the namespace cloud-auth-prove-[0-9a-f]{8} exists already$/)
    expect(kubernetes.requests.filter(request => request.startsWith('DELETE'))).toEqual([])
    expect([leftBehind().length, journals()]).toEqual([1, []])
  })
})

describe('a signal', () => {
  test.each([
    'GET /api/v1/namespaces/[^/]+$',
    'POST /api/v1/namespaces$',
    'POST .*/serviceaccounts$',
    'POST .*/jobs$',
    'GET .*/pods$',
    'GET .*/log$',
    'DELETE ',
  ])('at %s ends the run, and nothing is left', async pattern => {
    kubernetes.before = request => {
      if (new RegExp(pattern).test(request)) world.signal('SIGINT')
      return undefined
    }
    expect(await start()).toBe('interrupted')
    expect(report().stopped).toBe('SIGINT ended the run')
    expect([leftBehind(), journals()]).toEqual([[], []])
  })
})

describe('cloud-auth prove --cleanup', () => {
  /** Ends a run at a request, as lost credentials or SIGKILL do: all later calls fail too. */
  const loseCluster = async (pattern: RegExp): Promise<void> => {
    let isLost = false
    kubernetes.before = request => {
      isLost ||= pattern.test(request)
      return isLost ? DENIED : undefined
    }
    account.before = () => {
      if (isLost) throw new Error('ExpiredToken')
    }
    expect(await start()).toBe('refused')
    kubernetes.before = () => undefined
    account.before = () => undefined
  }

  test.each([/^POST .*serviceaccounts$/, /^POST .*jobs$/, /^GET .*pods$/, /^GET .*log$/, /^DELETE/])(
    'deletes the namespace and the stacks of a run that ended at %s',
    async pattern => {
      await loseCluster(pattern)
      expect([kubernetes.namespaces.size, journals().length]).toEqual([1, 1])
      expect(await cleanUp()).toBe('done')
      expect(world.said.join()).toMatch(/the namespace cloud-auth-prove-[0-9a-f]{8}/)
      expect([leftBehind(), journals()]).toEqual([[], []])
    },
  )

  test('keeps a namespace that lost the label of the run', async () => {
    await loseCluster(/^GET .*pods$/)
    for (const one of kubernetes.namespaces.values()) one.metadata.labels = {}
    expect(await cleanUp()).toBe('refused')
    expect(world.printed).toContain('does not have the label')
    expect(leftBehind()).toEqual([...kubernetes.namespaces.keys()])
  })
})

describe('cloud-auth prove --keep', () => {
  test('keeps nothing of a run that a signal ends during its last request', async () => {
    kubernetes.before = request => {
      if (request.startsWith('DELETE')) world.signal('SIGTERM')
      return undefined
    }
    expect(await start({ keeps: true })).toBe('terminated')
    expect([leftBehind(), journals()]).toEqual([[], []])
  })

  test('keeps the stack `pod` without the namespace, and --resume repeats the login', async () => {
    expect(await start({ keeps: true })).toBe('done')
    const { run } = report()
    expect(account.partsLeft(run)).toContain('pod')
    expect(kubernetes.namespaces.size).toBe(0)
    world.printed = ''
    const again = { isResume: true, words: [run], release: undefined, eksCluster: undefined }
    expect(await start(again)).toBe('done')
    expect(podRow()).toMatchObject({ result: 'held' })
    expect(kubernetes.jobs).toHaveLength(2)
    expect([leftBehind(), journals()]).toEqual([[], []])
  })
})
