import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type EngineWire, engineWire } from '../../infra/local/engine-wire.ts'
import { ownService } from '../../shared/adapters/aws/client.ts'

/** An engine keeps tables by the access key and looks no further: signatures are a third of what a call costs. */
export const unsigned = (accessKeyId: string) => ({
  authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`,
  'x-amz-date': '20260101T000000Z',
})

export const noSigner = { sign: async (request: unknown) => request } as never

/** A view of the same bytes: the SDK warns of whoever takes them for a text. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const wires = new Map<string, EngineWire>()

/** Makes the adapters' client of the tables, on the shortest way to the engine; files of a worker share connections. */
export function leanClient(url: string, accessKeyId: string): () => DynamoDBClient {
  const wire = wires.get(url) ?? engineWire(url)
  wires.set(url, wire)
  const signed = unsigned(accessKeyId)
  const handle = async (
    { headers, body }: { headers: Record<string, string>; body: Uint8Array },
    { abortSignal }: { abortSignal?: AbortSignal } = {},
  ) => {
    const response = wire.send({ headers: { ...headers, ...signed }, body: bytesOf(body) })
    return { response: await (abortSignal ? unlessAborted(abortSignal, response) : response) }
  }
  const requestHandler = { handle, updateHttpClientConfig: () => undefined, httpHandlerConfigs: () => ({}) }
  return () =>
    new DynamoDBClient({ ...ownService(), requestHandler: requestHandler as never, signer: noSigner })
}

/** As the SDK's own handler ends what takes too long. */
const unlessAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const end = () => reject(Object.assign(new Error('Request aborted'), { name: 'AbortError' }))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
