// What a login cannot do without: the signature check, JSON, and the same calls through the same SDK. Everything
// that our login costs beyond this is ours.
import { type createPublicKey, verify, X509Certificate } from 'node:crypto'
import { Agent, request } from 'node:http'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2'
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  PutCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb'

interface Place {
  pk: string
  sk: string
}

/** What the parent found out about the login that is measured beside. */
export interface FloorEvent {
  type: 'ec2' | 'iam'
  /** the login's event, whose body is read as JSON */
  body: string
  tables: { data: string; cluster: string }
  /** what is read, in batches, before AWS is asked; the last thing that is read is everything again */
  before: Place[][]
  after: Place[]
  certificate: string
  document: string
  signature: string
  instanceId: string
  sts: { url: string; host: string; headers: Record<string, string>; body: string }
}

const { AWS_ENDPOINT_URL_EC2: ec2Url, AWS_ENDPOINT_URL_DYNAMODB: tablesUrl } = process.env
const tables = DynamoDBDocumentClient.from(new DynamoDBClient(tablesUrl ? { endpoint: tablesUrl } : {}))
const ec2 = new EC2Client(ec2Url ? { endpoint: ec2Url } : {})
const agent = new Agent({ keepAlive: true })
let key: ReturnType<typeof createPublicKey> | undefined
let count = 0

export async function handler(event: FloorEvent): Promise<{ statusCode: number; body: string }> {
  const given = JSON.parse(event.body) as Record<string, string>
  for (const keys of event.before) await read(event, keys)
  if (event.type === 'ec2') await provenByEc2(event)
  else await askSts(event)
  const body = JSON.stringify({ auth: { client_token: 'x'.repeat(33), metadata: { role: given['role'] } } })
  return { statusCode: 200, body }
}

async function read({ tables: { data, cluster } }: FloorEvent, keys: Place[]): Promise<void> {
  const record = { ConsistentRead: true, Keys: [{ pk: 'cluster', sk: 'record' }] }
  const items = { ConsistentRead: true, Keys: keys }
  await tables.send(new BatchGetCommand({ RequestItems: { [data]: items, [cluster]: record } }))
}

async function provenByEc2(event: FloorEvent): Promise<void> {
  const { certificate, document, signature, instanceId } = event
  const { data } = event.tables
  key ??= new X509Certificate(certificate).publicKey
  if (!verify('sha256', Buffer.from(document), key, Buffer.from(signature, 'base64')))
    throw new Error('the floor’s signature is wrong')
  await ec2.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }))
  await read(event, event.after)
  await tables.send(new TransactWriteCommand({ TransactItems: [put(data, 900), put(data, 500)] }))
}

async function askSts(event: FloorEvent): Promise<void> {
  const {
    sts,
    tables: { data },
    after,
  } = event
  const { hostname, port } = new URL(sts.url)
  await new Promise<void>((resolve, reject) => {
    const call = request(
      { host: hostname, port, method: 'POST', path: '/', headers: { ...sts.headers, Host: sts.host }, agent },
      answer => {
        answer.resume()
        answer.on('end', () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(`STS answered ${answer.statusCode}`)),
        )
      },
    )
    call.on('error', reject)
    call.end(sts.body)
  })
  await read(event, after)
  const { Put } = put(data, 900)
  await tables.send(new PutCommand(Put))
}

const put = (table: string, size: number) => {
  count += 1
  // like an item of ours: a journal may be begun over it
  const Item = {
    pk: `bench#${process.pid}#${count}`,
    sk: 'floor',
    kind: 'child',
    rev: 'x',
    data: 'x'.repeat(size),
  }
  return { Put: { TableName: table, Item, ConditionExpression: 'attribute_not_exists(pk)' } }
}
