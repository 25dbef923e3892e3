import { describe, expect, test } from 'vitest'
import type { EndpointGroup } from '../../../shared/api/endpoint.ts'
import { defaultClientSettings } from '../../../shared/auth-method/config/client-settings.ts'
import { explainGroup } from '../../../shared/endpoints/explain.ts'
import { loginGroup } from '../../../shared/endpoints/login.ts'
import { renewalGroup } from '../../../shared/endpoints/renewal.ts'
import { rolesGroup } from '../../../shared/endpoints/roles.ts'
import { createDispatcher } from '../../../shared/http/dispatch.ts'
import type { Role } from '../../../shared/model/role.ts'
import { accessorOfHash, type LoginRecord, storedTokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { accessItem, usualInstance } from '../../builders/ec2-facts.ts'
import { httpRequest } from '../../builders/http-request.ts'
import { portsWith } from '../../builders/ports.ts'
import { ec2Role, iamRole, inferringRole } from '../../builders/roles.ts'
import { postInput } from '../../builders/signed-request.ts'
import { stsAnswer, usualCaller } from '../../builders/sts-answer.ts'
import { item, plainCipher } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import document from '../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }
import { clearCipher, mount, NOW, token } from '../tokens/support.ts'

// Tests the cost of each request that calls AWS: reads and commits of the tables and the AWS calls, in order.

const accessor = 'auth_cloud_1'
const uniqueId = usualCaller.UserId.split(':')[0] ?? ''
const account = usualCaller.Account
const known = { boundIamPrincipalIds: [uniqueId] }
const wild = { boundIamPrincipalIds: [], boundIamPrincipalArns: [`arn:aws:iam::${account}:role/team/*`] }

const signed = postInput()
const iamBody = {
  role: 'dev',
  iam_http_request_method: signed.method,
  iam_request_url: signed.url,
  iam_request_body: signed.body,
  iam_request_headers: signed.headers,
}
const ec2Body = { role: 'dev', pkcs7: document.rsa2048, nonce: 'n' }
const ofInstance: Partial<LoginRecord> = {
  authType: 'ec2',
  instanceId: usualInstance.id,
  region: 'eu-west-1',
}
const ofPrincipal: Partial<LoginRecord> = {
  authType: 'iam',
  canonicalArn: `arn:aws:iam::${account}:role/app`,
  clientUserId: uniqueId,
  instanceId: usualInstance.id,
  region: 'eu-west-1',
}
const principals = (...names: string[]) => ({
  bound_iam_principal_arn: names.map(name => `arn:aws:iam::${account}:role/${name}`),
})

interface Sent {
  group: EndpointGroup
  path: string
  body: object
  role?: Role
  /** login record of the caller's token */
  login?: Partial<LoginRecord>
}

const login = { group: loginGroup, path: 'auth/cloud/login' }
const renewal = { group: renewalGroup, path: 'auth/token/renew-self', body: {} }
const explain = { group: explainGroup, path: 'auth/cloud/role/dev/explain' }

const requests = {
  'ec2 login': {
    ...login,
    body: ec2Body,
    role: ec2Role({ bound: { bound_account_id: [document.account] } }),
  },
  'iam login': { ...login, body: iamBody, role: iamRole(known) },
  'iam login by wildcard': { ...login, body: iamBody, role: iamRole(wild) },
  'iam login that infers': { ...login, body: iamBody, role: inferringRole(known) },
  'iam login by wildcard that infers': { ...login, body: iamBody, role: inferringRole(wild) },
  'renewal of an ec2 login': { ...renewal, role: ec2Role(), login: ofInstance },
  'renewal of an iam login': { ...renewal, role: iamRole(known), login: ofPrincipal },
  'renewal by wildcard': { ...renewal, role: iamRole(wild), login: ofPrincipal },
  'renewal that infers': { ...renewal, role: inferringRole(known), login: ofPrincipal },
  'renewal by wildcard that infers': { ...renewal, role: inferringRole(wild), login: ofPrincipal },
  'role write': {
    group: rolesGroup,
    path: 'auth/cloud/role/new',
    body: { auth_type: 'iam', ...principals('a', 'b') },
  },
  'explanation of an ec2 login': { ...explain, body: ec2Body, role: ec2Role() },
  'explanation of an iam login': { ...explain, body: iamBody, role: inferringRole(wild) },
} satisfies Record<string, Sent>

let configurations = 0
/** A client configuration with a revision that no cache entry has. */
const freshConfiguration = (): Item<'client-config'> =>
  item(key('client-config', accessor), defaultClientSettings, `configuration ${++configurations}`)

/** Makes a cluster whose environment has served requests before, but has looked up no principal. */
async function cluster({ role, login: record }: Sent) {
  const hash = await storedTokenHashOf('hvs.t', clearCipher)
  const loginRecord = record && { role: 'dev', roleId: role?.roleId ?? '', account, tagMaxTtl: 0, ...record }
  const own = {
    hash,
    policies: ['root'],
    mount: accessor,
    ...(loginRecord ? { login: loginRecord as LoginRecord } : {}),
  }
  const items: Item[] = [
    clusterItem({ mode: 'disabled' }),
    { ...key('mounts'), rev: 'r', data: { mounts: [mount()], removing: [] } },
    { ...key('mounts-revision'), rev: 'r', data: {} },
    { ...key('token', accessorOfHash(hash)), rev: 'r', data: token(own) },
    freshConfiguration(),
    ...(role ? [{ ...key('role', accessor, 'dev'), rev: 'r', data: role }] : []),
    ...(record?.authType === 'ec2' ? [accessItem()] : []),
  ]
  const memory = memoryStore(items)
  const calls: string[] = []
  let drawn = 0
  const events = { asked: (_: string) => {}, committing: () => {} }
  let verdicts: 'conflict'[] = []
  const counted = (name: string) => {
    calls.push(name)
    events.asked(name)
  }
  const store = {
    ...memory.store,
    read: async (keys: Parameters<typeof memory.store.read>[0]) => {
      calls.push('read')
      return memory.store.read(keys)
    },
    list: async (...given: Parameters<typeof memory.store.list>) => {
      calls.push('list')
      return memory.store.list(...given)
    },
    commit: async (...given: Parameters<typeof memory.store.commit>) => {
      calls.push('commit')
      events.committing()
      return verdicts.shift() ?? memory.store.commit(...given)
    },
  }
  const ports = portsWith({
    store,
    cipher: {
      ...clearCipher,
      encrypt: plainCipher.encrypt,
      decrypt: plainCipher.decrypt,
      keysToRead: () => [],
      expectKeyring: () => undefined,
    },
    clock: { now: () => NOW, sleep: async () => {} },
    entropy: { uuid: () => `uuid-${++drawn}`, bytes: (length: number) => Buffer.alloc(length, ++drawn) },
    memory: {},
    keyHints: new Map<string, string>(),
    audit: { write: async () => {} },
    log: { warn: () => {} },
    deployment: { legacySignatures: false, region: 'eu-west-1', assumableRoles: [] },
    callerIdentity: {
      forward: async () => {
        counted('sts')
        return stsAnswer()
      },
    },
    instances: {
      load: async () => {},
      describe: async (_: unknown, id: string) => {
        counted('ec2')
        return { ...usualInstance, id }
      },
    },
    principals: {
      find: async (_: unknown, { name }: { name: string }) => {
        counted(`iam ${name}`)
        const path = name === 'app' ? 'team/' : ''
        return {
          arn: `arn:aws:iam::${account}:role/${path}${name}`,
          uniqueId: name === 'app' ? uniqueId : name,
        }
      },
    },
  })
  return {
    ports,
    stored: memory.stored,
    events,
    lose: (commits: number) => {
      verdicts = Array(commits).fill('conflict')
    },
    taken: () => calls.splice(0),
  }
}

type Cluster = Awaited<ReturnType<typeof cluster>>

async function send({ group, path, body }: Sent, { ports }: Cluster) {
  const request = httpRequest({
    path: `/v1/${path}`,
    headers: { 'x-vault-token': 'hvs.t' },
    body: JSON.stringify(body),
    deadline: NOW + 10_000,
  })
  const { response, error } = await createDispatcher(group, ports)(request)
  return { status: response.status, cause: error?.message || error?.cause }
}

/** Returns the calls of a request in an environment that has served requests before. */
async function callsOf(name: keyof typeof requests, meanwhile: (at: Cluster) => void = () => {}) {
  const sent: Sent = requests[name]
  const at = await cluster(sent)
  await send(sent, at)
  at.taken()
  // the cache contains no principal of this configuration's revision
  at.stored.put(freshConfiguration())
  meanwhile(at)
  const { status, cause } = await send(sent, at)
  expect([200, 204], String(cause)).toContain(status)
  return at.taken().join(', ')
}

type Row = [name: keyof typeof requests, calls: string]

describe('calls to storage and AWS per request', () => {
  test.each<Row>([
    ['ec2 login', 'read, ec2, read, commit'],
    ['iam login', 'read, sts, read, commit'],
    ['iam login by wildcard', 'read, sts, read, read, iam app, read, commit'],
    ['iam login that infers', 'read, sts, read, read, ec2, read, commit'],
    ['iam login by wildcard that infers', 'read, sts, read, read, iam app, ec2, read, commit'],
    ['renewal of an ec2 login', 'read, read, ec2, commit'],
    ['renewal of an iam login', 'read, read, commit'],
    ['renewal by wildcard', 'read, read, iam app, commit'],
    ['renewal that infers', 'read, read, ec2, commit'],
    ['renewal by wildcard that infers', 'read, read, iam app, ec2, commit'],
    ['role write', 'read, read, read, iam a, iam b, commit'],
    ['explanation of an ec2 login', 'read, read, read, ec2'],
    ['explanation of an iam login', 'read, read, read, sts, read, read, read, iam app, ec2'],
  ])('%s', async (name, calls) => {
    expect(await callsOf(name)).toBe(calls)
  })
})

describe('calls of a request whose first commit conflicts', () => {
  test.each<Row>([
    ['ec2 login', 'read, ec2, read, commit, read, commit'],
    ['iam login', 'read, sts, read, commit, read, commit'],
    ['iam login by wildcard', 'read, sts, read, read, iam app, read, commit, read, commit'],
    ['iam login that infers', 'read, sts, read, read, ec2, read, commit, read, commit'],
    ['iam login by wildcard that infers', 'read, sts, read, read, iam app, ec2, read, commit, read, commit'],
    ['renewal of an ec2 login', 'read, read, ec2, commit, read, read, commit'],
    ['renewal of an iam login', 'read, read, commit, read, read, commit'],
    ['renewal by wildcard', 'read, read, iam app, commit, read, read, commit'],
    ['renewal that infers', 'read, read, ec2, commit, read, read, commit'],
    ['renewal by wildcard that infers', 'read, read, iam app, ec2, commit, read, read, commit'],
    ['role write', 'read, read, read, iam a, iam b, commit, read, read, read, commit'],
  ])('%s', async (name, calls) => {
    expect(await callsOf(name, ({ lose }) => lose(1))).toBe(calls)
  })
})

describe('calls of a request if the client configuration changes during its first AWS call', () => {
  test.each<[...Row, during?: string]>([
    ['ec2 login', 'read, ec2, read, ec2, read, commit'],
    ['iam login', 'read, sts, read, commit', 'sts'],
    ['iam login by wildcard', 'read, sts, read, read, iam app, read, iam app, read, commit', 'iam app'],
    ['iam login that infers', 'read, sts, read, read, ec2, read, ec2, read, commit'],
    [
      'iam login by wildcard that infers',
      'read, sts, read, read, iam app, ec2, read, iam app, ec2, read, commit',
      'iam app',
    ],
    [
      'iam login by wildcard that infers',
      'read, sts, read, read, iam app, ec2, read, iam app, ec2, read, commit',
    ],
    ['renewal of an ec2 login', 'read, read, ec2, commit'],
    ['renewal by wildcard', 'read, read, iam app, commit', 'iam app'],
    ['renewal that infers', 'read, read, ec2, commit'],
    ['renewal by wildcard that infers', 'read, read, iam app, ec2, commit', 'iam app'],
    ['role write', 'read, read, read, iam a, iam b, commit', 'iam a'],
    ['explanation of an ec2 login', 'read, read, read, ec2'],
    ['explanation of an iam login', 'read, read, read, sts, read, read, read, iam app, ec2', 'iam app'],
  ])('%s', async (name, calls, during = 'ec2') => {
    const changing = ({ events, stored }: Cluster) => {
      events.asked = asked => {
        if (asked !== during) return
        events.asked = () => {}
        stored.put(freshConfiguration())
      }
    }
    expect(await callsOf(name, changing)).toBe(calls)
  })
})

describe('calls of a request whose first commit conflicts because the client configuration changed', () => {
  test.each<Row>([
    ['ec2 login', 'read, ec2, read, commit, read, ec2, read, commit'],
    ['iam login', 'read, sts, read, commit, read, commit'],
    [
      'iam login by wildcard that infers',
      'read, sts, read, read, iam app, ec2, read, commit, read, iam app, ec2, read, commit',
    ],
    ['renewal of an ec2 login', 'read, read, ec2, commit, read, read, ec2, commit'],
    ['renewal by wildcard that infers', 'read, read, iam app, ec2, commit, read, read, iam app, ec2, commit'],
    ['role write', 'read, read, read, iam a, iam b, commit, read, read, read, iam a, iam b, commit'],
  ])('%s', async (name, calls) => {
    const losing = ({ events, stored, lose }: Cluster) => {
      lose(1)
      events.committing = () => {
        events.committing = () => {}
        stored.put(freshConfiguration())
      }
    }
    expect(await callsOf(name, losing)).toBe(calls)
  })
})

test('an iam login with a cached full ARN reads once after STS answers, and then the STS role', async () => {
  const sent: Sent = requests['iam login by wildcard']
  const at = await cluster(sent)
  await send(sent, at)
  at.taken()
  await send(sent, at)
  expect(at.taken().join(', ')).toBe('read, sts, read, read, commit')
})
