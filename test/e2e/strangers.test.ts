import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import type { ClusterStateFile } from '../../infra/local/os/cluster-file.ts'
import { WORKLOAD_INSTANCE } from '../../infra/local/provider/home.ts'
import { linkPath } from '../../shared/link/routes.ts'
import {
  awsOf,
  cleanUp,
  clusterFile,
  enginePid,
  folderOf,
  freshCluster,
  start,
} from '../support/programs/npm-start.ts'
import { invokeAt } from '../support/service/invoke.ts'

// Another user of the machine, who can reach all loopback ports and see all command lines, attacks a host.
// When the test runs as root, it sends the requests as another user. Otherwise it sends them as its own user,
// and does not test file access.

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const asStranger = isRoot
  ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', process.execPath]
  : [process.execPath]

interface Ask {
  url: string
  method?: string
  headers?: Record<string, string>
  body?: string
}
interface Seen {
  files: Record<string, string>
  answers: Record<string, { status: number | string; text: string }>
}

/** Returns the data that the other user's process could read. */
async function strange(files: readonly string[], asks: Readonly<Record<string, Ask>>): Promise<Seen> {
  const [program = '', ...options] = asStranger
  const child = spawn(program, [...options, `${checkoutRoot}test/support/programs/stranger.mjs`], {
    cwd: '/',
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify({ files, asks }))
  return JSON.parse(await text(child.stdout)) as Seen
}

const cluster = freshCluster('strangers')
let host: ClusterStateFile
let pids: Record<'host' | 'aws' | 'engine', number>
beforeAll(async () => {
  await start('--cluster', cluster, '--port', '0').until('Serving.')
  host = clusterFile(cluster)
  pids = { host: host.pid, aws: awsOf(cluster).pid, engine: enginePid(cluster) }
})
afterAll(cleanUp)

/** Returns the ports on which a process listens, from data that the kernel shows to every user. */
function portsOf(pid: number): string[] {
  const fds = readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      return ''
    }
  })
  const own = new Set(fds.flatMap(one => /^socket:\[(\d+)\]$/.exec(one)?.[1] ?? []))
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return rows
    .map(row => row.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === '0A' && own.has(inode))
    .map(([, address = '']) => String(Number.parseInt(address.split(':')[1] ?? '', 16)))
}

const portOf = (url: string): string => new URL(url).port
const engineUrl = (): string => `http://127.0.0.1:${portsOf(pids.engine)[0]}`

/** Returns the status of a call to the link's port. */
async function linkStatus(headers: Record<string, string>): Promise<number> {
  const session = connect(host.link_address)
  const call = session.request({ ':method': 'POST', ':path': `${linkPath}Heartbeat`, ...headers })
  const [answer] = (await once(call.end(), 'response')) as [IncomingHttpHeaders]
  session.destroy()
  return Number(answer[':status'])
}

/** Returns the tables' names, and the secret prefix of these names. */
function tables(): { prefix: string; names: string[] } {
  const { prefix } = JSON.parse(readFileSync(`${folderOf(cluster)}/tables.json`, 'utf8')) as {
    prefix: string
  }
  const database = new DatabaseSync(`${folderOf(cluster)}/dynamodb.sqlite`, { readOnly: true })
  const rows = database.prepare('SELECT table_name AS name FROM _tables WHERE table_name IS NOT NULL').all()
  database.close()
  return { prefix, names: rows.map(({ name }) => String(name)) }
}

/** Returns the headers of a request signed with an unknown key. */
const signed = (service: string) => ({
  authorization: `AWS4-HMAC-SHA256 Credential=AKIASTRANGER/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
  'x-amz-date': new Date().toISOString().replace(/[-:]|\.\d+/g, ''),
})
const target = (service: string, name: string) => ({
  ...signed(service),
  'content-type': 'application/x-amz-json-1.0',
  'x-amz-target': name,
})
const form = { 'content-type': 'application/x-www-form-urlencoded' }

test('this file covers every port of the host', () => {
  const { base_url, link_address, lambda_url, states_url, provider_url, metadata_url } = host
  expect(portsOf(pids.host).sort()).toEqual(
    [base_url, link_address, lambda_url, states_url].map(portOf).sort(),
  )
  expect(portsOf(pids.aws).sort()).toEqual([provider_url, metadata_url].map(portOf).sort())
  expect(portsOf(pids.engine)).toHaveLength(1)
})

describe('another user of the machine', () => {
  test('gets 403 from every port that only the host or its owner may use', async () => {
    const { lambda_url, states_url, provider_url } = host
    const functions = `${lambda_url}/2015-03-31/functions/${host.functions['on-job']}/invocations`
    const states = target('states', 'AWSStepFunctions.ListStateMachines')
    const asks: Record<string, Ask> = {
      'Invoke, unsigned': { url: functions, body: '{}' },
      'Invoke, signed by nobody': { url: functions, body: '{}', headers: signed('lambda') },
      'Step Functions, unsigned': {
        url: states_url,
        body: '{}',
        headers: { 'x-amz-target': states['x-amz-target'] },
      },
      'Step Functions, signed by nobody': { url: states_url, body: '{}', headers: states },
      AssumeRole: {
        url: provider_url,
        headers: { ...form, ...signed('sts') },
        body: 'Action=AssumeRole&Version=2011-06-15',
      },
      GetCallerIdentity: {
        url: provider_url,
        headers: form,
        body: 'Action=GetCallerIdentity&Version=2011-06-15',
      },
      CreateAccessKey: {
        url: provider_url,
        headers: { ...form, ...signed('iam') },
        body: 'Action=CreateAccessKey&Version=2010-05-08',
      },
    }
    const { answers } = await strange([], asks)
    for (const [name, { status, text }] of Object.entries(answers))
      expect(status, `${name}: ${text}`).toBe(403)
  })

  test('cannot control the imitated AWS, hold a lease on it, or read metadata of another instance', async () => {
    const { provider_url: url } = host
    const lease = { connection: 'Upgrade', upgrade: 'cloud-auth-lease' }
    const other = `/imds/${WORKLOAD_INSTANCE.account}/${WORKLOAD_INSTANCE.region}/${WORKLOAD_INSTANCE.instanceId}/latest/api/token`
    const { answers } = await strange([], {
      session: {
        url: `${url}/_control/session`,
        body: '{"account":"111122223333","role":"web-server","session":"x"}',
      },
      guessed: { url: `${url}/_control/calls`, headers: { authorization: 'Bearer guessed' }, body: '{}' },
      lease: { url, method: 'GET', headers: lease },
      metadata: {
        url: `${url}${other}`,
        method: 'PUT',
        headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
      },
    })
    const statuses = Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]))
    expect(statuses).toEqual({ session: 401, guessed: 401, lease: 'ECONNRESET', metadata: 403 })
  })

  test('cannot name or create tables of the engine, although that accepts any signature', async () => {
    const url = engineUrl()
    const asks = (
      operations: Readonly<Record<string, object>>,
      prefix = 'DynamoDB_20120810',
    ): Record<string, Ask> =>
      Object.fromEntries(
        Object.entries(operations).map(([name, input]) => [
          `${name} ${JSON.stringify(input)}`,
          { url, headers: target('dynamodb', `${prefix}.${name}`), body: JSON.stringify(input) },
        ]),
      )
    const { prefix, names } = tables()
    const [secret = ''] = names
    // the name of a table without its secret prefix, as every checkout has it
    const TableName = secret.slice(prefix.length)
    expect(TableName).toMatch(/^cloud-auth-local-data-/)
    const own = {
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      BillingMode: 'PAY_PER_REQUEST',
    }
    const { answers } = await strange([], {
      ...asks({ ListTables: {}, Scan: { TableName }, CreateTable: { TableName: 'mine', ...own } }),
      ...asks({
        ListTables: { Limit: 1 },
        DescribeTable: { TableName },
        Query: {
          TableName: '_tables',
          KeyConditionExpression: 'table_name = :a',
          ExpressionAttributeValues: { ':a': { S: 'a' } },
        },
      }),
      ...asks({
        ListTables: { ExclusiveStartTableName: 'aaa', Limit: 1 },
        ExecuteStatement: { Statement: 'SELECT * FROM "_tables"' },
      }),
      ...asks({ ListStreams: {} }, 'DynamoDBStreams_20120810'),
      ...asks({ ListStreams: { TableName } }, 'DynamoDBStreams_20120810'),
    })
    expect(Object.keys(answers)).toHaveLength(10)
    const known = await strange([], asks({ DescribeTable: { TableName: secret } }))
    expect(Object.values(known.answers), 'the name alone keeps others out').toMatchObject([{ status: 200 }])
    for (const [name, { status, text }] of Object.entries(answers)) {
      expect(status, `${name}: ${text}`).toBeOneOf([400, 500])
      expect(text, name).not.toContain(prefix)
    }
  })

  test('gets the answers of a client without credentials, and the metadata of the open instance', async () => {
    const { base_url, metadata_url } = host
    const { answers } = await strange([], {
      health: { url: `${base_url}/sys/health`, method: 'GET' },
      init: { url: `${base_url}/sys/init`, method: 'PUT', body: '{}' },
      mounts: { url: `${base_url}/sys/auth`, method: 'GET' },
      'generate-root': { url: `${base_url}/sys/generate-root/update`, body: '{"key":"x","nonce":"x"}' },
      metadata: {
        url: `${metadata_url}/latest/api/token`,
        method: 'PUT',
        headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '60' },
      },
    })
    const statuses = Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]))
    expect(statuses).toEqual({ health: 200, init: 400, mounts: 403, 'generate-root': 400, metadata: 200 })
  })

  test('cannot use a web page to call ports that are not for browsers', async () => {
    const { lambda_url, states_url, provider_url, metadata_url, control_token } = host
    const headers = { origin: 'http://evil.example', authorization: `Bearer ${control_token}` }
    const { answers } = await strange([], {
      lambda: { url: lambda_url, headers },
      states: { url: states_url, headers },
      aws: { url: provider_url, headers },
      control: { url: `${provider_url}/_control/calls`, headers },
      metadata: { url: `${metadata_url}/latest/api/token`, method: 'PUT', headers },
    })
    for (const [name, { status, text }] of Object.entries(answers))
      expect([status, text], name).toEqual([403, '{"error":"not for browsers"}'])
    expect(await linkStatus({ origin: 'http://evil.example' })).toBe(403)
    expect(await linkStatus({})).not.toBe(403)
  })

  test("cannot read the cluster's files or the environment of its processes", async context => {
    if (!isRoot) {
      process.stderr.write(
        'NOT SHOWN: that another user reads no file of a host. Run this test as root, with setpriv.\n',
      )
      return context.skip('only root can start a process of another user')
    }
    const folder = folderOf(cluster)
    const files = readdirSync(folder).map(name => `${folder}/${name}`)
    expect(files.length).toBeGreaterThan(10)
    const environments = Object.values(pids).map(pid => `/proc/${pid}/environ`)
    const seen = await strange([...files, ...environments], {})
    expect(new Set(Object.values(seen.files))).toEqual(new Set(['EACCES']))
  })

  test('sees no secret in a command line', () => {
    const lines = Object.values(pids).map(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
    expect(lines.join()).toContain('dynamodb.sqlite')
    const { root_token, recovery_keys, control_token, secret_access_key } = host
    for (const secret of [root_token, ...recovery_keys, control_token, secret_access_key])
      expect(lines.join()).not.toContain(secret)
  })
})

test('the owner can invoke functions with the key in the cluster file', async () => {
  expect(await invokeAt(host, 'on-tidy-schedule', { source: 'aws.events' })).toMatchObject({ status: 200 })
})
