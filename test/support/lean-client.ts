import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  type EngineRequest,
  type EngineResponse,
  type EngineWire,
  engineWire,
} from '../../infra/local/engine-wire.ts'
import type { StorageTap } from '../../infra/local/storage-tap.ts'
import { ATTEMPT_MS, MOST_ATTEMPTS } from '../../shared/adapters/aws/client.ts'
import { bareClient, type TableAnswer, type TableCall, type TableEngine } from './bare-client.ts'
import { refusedCall } from './iam/judge.ts'

/** An engine keeps tables by the access key and looks no further: signatures are a third of what a call costs. */
export const unsigned = (accessKeyId: string) => ({
  authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
  'x-amz-date': '20260101T000000Z',
})

/** Makes requests of calls. */
function requestsAs(accessKeyId: string): (call: TableCall) => EngineRequest {
  const common = { 'content-type': 'application/x-amz-json-1.0', ...unsigned(accessKeyId) }
  return ({ operation, input }) => ({
    headers: { ...common, 'x-amz-target': `DynamoDB_20120810.${operation}` },
    body: Buffer.from(JSON.stringify(input)),
  })
}

const answerOf = ({ statusCode, body }: EngineResponse): TableAnswer => ({
  statusCode,
  body: JSON.parse(body.toString('utf8')) as object,
})

/** The engine over HTTP. */
export function engineOver({ send }: Pick<EngineWire, 'send'>, accessKeyId: string): TableEngine {
  const requestOf = requestsAs(accessKeyId)
  return async call => answerOf(await send(requestOf(call)))
}

const wires = new Map<string, EngineWire>()

/** Makes the adapters' client of the tables, on the shortest way to the engine; files of a worker share connections. */
export function leanClient(url: string, accessKeyId: string): () => DynamoDBClient {
  const wire = wires.get(url) ?? engineWire(url)
  wires.set(url, wire)
  const engine = engineOver(wire, accessKeyId)
  return () => bareClient(async call => refusedCall(call) ?? engine(call), MOST_ATTEMPTS)
}

/** Makes the same through a tap in this process: what breaks, and what takes long, ends as over the adapters' connections. */
export function tappedClient({ pass }: Pick<StorageTap, 'pass'>, accessKeyId: string): () => DynamoDBClient {
  const requestOf = requestsAs(accessKeyId)
  const sent = overKeptConnections()
  const engine: TableEngine = async call => {
    const refused = refusedCall(call)
    if (refused) return refused
    const { operation, input, invocation = '' } = call
    const passing = { ...requestOf(call), operation, input, invocation }
    const answer = await sent(() => inTime(pass(passing)))
    if (!answer) throw unanswered('the connection broke', 'ECONNRESET')
    return answerOf(answer)
  }
  return () => bareClient(engine, MOST_ATTEMPTS)
}

/** What breaks on a connection that was kept is sent again at once, which is no attempt (`connections.ts`). */
function overKeptConnections() {
  let resting = 0
  const over = async <T>(send: () => Promise<T | undefined>) => {
    const answer = await send()
    resting = answer ? resting + 1 : 0
    return answer
  }
  return async <T>(send: () => Promise<T | undefined>): Promise<T | undefined> => {
    const kept = resting > 0
    if (kept) resting -= 1
    return (await over(send)) ?? (kept ? over(send) : undefined)
  }
}

/** What the SDK calls whatever ends without an answer. */
const unanswered = (message: string, code: string): Error =>
  Object.assign(new Error(message), { name: 'TimeoutError', code })

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const end = () => reject(unanswered(`there was no answer within ${ATTEMPT_MS} ms`, 'ETIMEDOUT'))
    timer = setTimeout(end, ATTEMPT_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
