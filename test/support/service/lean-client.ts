import { createSdkSend } from '../../../shared/adapters/aws/sdk-tables.ts'
import type { AwsJsonAnswer } from '../../../shared/adapters/aws/wire/json.ts'
import { ATTEMPT_TIMEOUT_MS } from '../../../shared/adapters/aws/wire/limits.ts'
import {
  createTableSend,
  type DynamoDbCall,
  type SendDynamoDbCall,
  type TableSend,
} from '../../../shared/adapters/aws/wire/tables.ts'
import {
  type EngineRequest,
  type EngineResponse,
  type EngineWire,
  openEngineWire,
} from '../faults/engine-wire.ts'
import type { StorageTap } from '../faults/storage-tap.ts'
import { refusedCall } from '../iam/judge.ts'

/**
 * Returns an unsigned authorization header. The engine selects tables by the access key and checks no
 * signature, and a signature would cost a third of the time of a call.
 */
export const unsigned = (accessKeyId: string) => ({
  authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
  'x-amz-date': '20260101T000000Z',
})

/** Returns a function that makes the engine's HTTP requests of DynamoDB calls. */
function requestsAs(accessKeyId: string): (call: Pick<DynamoDbCall, 'operation' | 'input'>) => EngineRequest {
  const common = { 'content-type': 'application/x-amz-json-1.0', ...unsigned(accessKeyId) }
  return ({ operation, input }) => ({
    headers: { ...common, 'x-amz-target': `DynamoDB_20120810.${operation}` },
    body: Buffer.from(JSON.stringify(input)),
  })
}

const answerOf = ({ statusCode, body }: EngineResponse): AwsJsonAnswer => ({
  statusCode,
  body: JSON.parse(body.toString('utf8')) as object,
})

/** Calls the DynamoDB engine over HTTP. */
export function engineOver({ send }: Pick<EngineWire, 'send'>, accessKeyId: string): SendDynamoDbCall {
  const requestOf = requestsAs(accessKeyId)
  return async call => answerOf(await send(requestOf(call)))
}

/**
 * Sends DynamoDB calls with the client that these tests run with (`.config/vitest.config.ts`): our own client
 * or the SDK.
 */
const sendBy = (engine: SendDynamoDbCall): TableSend =>
  process.env['TABLES_CLIENT'] === 'sdk'
    ? createSdkSend(createTableSend(engine), sdkHandler(engine))
    : createTableSend(engine)

/** Sends the SDK's requests to a DynamoDB engine. */
export const sdkHandler = (engine: SendDynamoDbCall): Parameters<typeof createSdkSend>[1] => ({
  handle: async ({ headers, body = '' }, { requestTimeout = ATTEMPT_TIMEOUT_MS } = {}) => {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    const call: DynamoDbCall = {
      operation: headers['x-amz-target']?.split('.')[1] ?? '',
      input: JSON.parse(text) as DynamoDbCall['input'],
      invocation: headers['amz-sdk-invocation-id'] ?? '',
    }
    const { statusCode, body: answer } = await engine(call, requestTimeout)
    return { response: { statusCode, headers: {}, body: Buffer.from(JSON.stringify(answer)) } }
  },
})

const wires = new Map<string, EngineWire>()

/**
 * Sends DynamoDB calls as the adapters make them, on the shortest way to the engine. The test files of a
 * worker share connections.
 */
export function leanSend(url: string, accessKeyId: string): TableSend {
  const wire = wires.get(url) ?? openEngineWire(url)
  wires.set(url, wire)
  const engine = engineOver(wire, accessKeyId)
  return sendBy(async (call, ms) => refusedCall(call) ?? engine(call, ms))
}

/**
 * Sends DynamoDB calls through a storage tap in this process. Broken and slow calls end as on the adapters'
 * connections.
 */
export function tappedSend({ pass }: Pick<StorageTap, 'pass'>, accessKeyId: string): TableSend {
  const requestOf = requestsAs(accessKeyId)
  const sent = overKeptConnections()
  const engine: SendDynamoDbCall = async (call, ms) => {
    const refused = refusedCall(call)
    if (refused) return refused
    const { operation, input, invocation } = call
    const passing = { ...requestOf(call), operation, input, invocation }
    const answer = await sent(() => inTime(pass(passing), ms))
    if (!answer) throw unanswered('the connection broke', 'ECONNRESET')
    return answerOf(answer)
  }
  return sendBy(engine)
}

/**
 * Sends a request again at once if a kept-alive connection breaks. The repetition does not count as an
 * attempt (`connections.ts`).
 */
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

/** Returns the error of a call that got no answer. */
const unanswered = (message: string, code: string): Error => Object.assign(new Error(message), { code })

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const end = () => reject(unanswered(`there was no answer within ${ms} ms`, 'ETIMEDOUT'))
    timer = setTimeout(end, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
