// A process of the bench: sends recorded calls to the tables again, by the product's wire or over node:http as they are,
// unsigned and unparsed, and tells what one of them cost it.
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { wireSettings } from '../../shared/adapters/aws/environment.ts'
import { type Send, type TableOperation, tableSend } from '../../shared/adapters/aws/wire/tables.ts'
import { tablesOverHttp } from '../../shared/adapters/aws/wire/tables-over-http.ts'
import { fromWire, objectIn, type PlainItem } from '../../shared/adapters/aws/wire/values.ts'
import type { Recorded } from './recorder.ts'

export interface ReplayOrder {
  url: string
  calls: Recorded[]
  way: 'wire' | 'floor'
  /** calls under way at a time */
  atOnce: number
  warmUp: number
  counted: number
}

type Call = () => Promise<unknown>

const agent = new Agent({ keepAlive: true })

const floorCalls = ({ url, calls }: ReplayOrder): Call[] => {
  const { hostname: host, port } = new URL(url)
  return calls.map(({ operation, body }) => () => {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
      'content-length': Buffer.byteLength(body),
    }
    return new Promise((resolve, reject) => {
      const call = request({ host, port, method: 'POST', path: '/', headers, agent }, answer => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(Buffer.concat(chunks))
          else reject(new Error(`answered ${answer.statusCode}`))
        })
      })
      call.on('error', reject)
      call.end(body)
    })
  })
}

function wireCalls({ url, calls }: ReplayOrder): Call[] {
  const variables = { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_DYNAMODB: url }
  const by = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'x'.repeat(40),
    sessionToken: 'x'.repeat(400),
  }
  const send = tableSend(tablesOverHttp({ settings: wireSettings(variables), credentials: () => by }))
  return calls.map(({ operation, body }) => {
    const input = plainInput(JSON.parse(body))
    return () => send(operation as TableOperation, input as Parameters<Send>[1])
  })
}

/** What a call was before it was marshalled: items and keys in plain values. */
function plainInput(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map(one => (name === 'Keys' ? plain(one) : plainInput(one)))
  if (typeof value !== 'object' || value === null) return value
  if (['Item', 'Key', 'ExpressionAttributeValues'].includes(name)) return plain(value)
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, plainInput(one, member)]))
}

const plain = (item: unknown): PlainItem => fromWire(objectIn(item), 'rounded')

async function replay(order: ReplayOrder) {
  const calls = order.way === 'wire' ? wireCalls(order) : floorCalls(order)
  await each(calls, order.warmUp, order.atOnce)
  const [cpu, wall] = [process.cpuUsage(), performance.now()]
  await each(calls, order.counted, order.atOnce)
  const { user, system } = process.cpuUsage(cpu)
  return {
    cpuUs: (user + system) / order.counted,
    wallUs: ((performance.now() - wall) * 1000) / order.counted,
  }
}

async function each(calls: readonly Call[], count: number, atOnce: number): Promise<void> {
  let next = 0
  const client = async () => {
    while (next < count) await calls[next++ % calls.length]?.()
  }
  await Promise.all(Array.from({ length: atOnce }, client))
}

process.on('message', (order: ReplayOrder) => {
  replay(order).then(
    result => process.send?.(result),
    (error: Error) => process.send?.({ error: error.stack }),
  )
})
process.send?.('ready')
