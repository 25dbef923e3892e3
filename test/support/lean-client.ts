import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type EngineWire, engineWire } from '../../infra/local/engine-wire.ts'
import { bareClient, type TableAnswer, type TableEngine } from './bare-client.ts'

/** An engine keeps tables by the access key and looks no further: signatures are a third of what a call costs. */
export const unsigned = (accessKeyId: string) => ({
  authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
  'x-amz-date': '20260101T000000Z',
})

/** The engine over HTTP. */
export const engineOver = ({ send }: Pick<EngineWire, 'send'>, accessKeyId: string): TableEngine => {
  const common = { 'content-type': 'application/x-amz-json-1.0', ...unsigned(accessKeyId) }
  return async ({ operation, input }) => {
    const headers = { ...common, 'x-amz-target': `DynamoDB_20120810.${operation}` }
    const { statusCode, body } = await send({ headers, body: Buffer.from(JSON.stringify(input)) })
    return { statusCode, body: JSON.parse(body.toString('utf8')) as object }
  }
}

/** Attempts of the SDK's client. */
const ATTEMPTS = 3

/** What an engine answers when it is asked again where it had no answer, as the SDK does. */
const insisting =
  (engine: TableEngine): TableEngine =>
  async call => {
    for (let attempt = 1; ; attempt++) {
      const answer = await engine(call).catch((error: Error): TableAnswer => {
        if (attempt === ATTEMPTS) throw error
        return { statusCode: 500, body: {} }
      })
      if (answer.statusCode < 500 || attempt === ATTEMPTS) return answer
    }
  }

const wires = new Map<string, EngineWire>()

/** Makes the adapters' client of the tables, on the shortest way to the engine; files of a worker share connections. */
export function leanClient(url: string, accessKeyId: string): () => DynamoDBClient {
  const wire = wires.get(url) ?? engineWire(url)
  wires.set(url, wire)
  const engine = insisting(engineOver(wire, accessKeyId))
  return () => bareClient(engine)
}
