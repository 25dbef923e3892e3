import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { ClusterStateFile } from '../../../infra/local/os/cluster-file.ts'
import type { Reply } from './api.ts'

type Invoked = Pick<ClusterStateFile, 'lambda_url' | 'access_key_id' | 'secret_access_key' | 'functions'>

/** Invokes a function of a running host, with the key in the host's cluster file. */
export async function invokeAt(
  { lambda_url, access_key_id, secret_access_key, functions }: Invoked,
  folder: string,
  event: unknown,
  InvocationType: 'RequestResponse' | 'Event' = 'RequestResponse',
): Promise<Reply> {
  const client = new LambdaClient({
    endpoint: lambda_url,
    region: 'us-east-1',
    credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
  })
  const FunctionName = functions[folder] ?? folder
  const Payload = Buffer.from(JSON.stringify(event))
  const answer = await client.send(new InvokeCommand({ FunctionName, InvocationType, Payload }))
  client.destroy()
  const text = Buffer.from(answer.Payload ?? []).toString('utf8')
  const body = text.startsWith('{') ? JSON.parse(text) : undefined
  return { status: answer.StatusCode ?? 0, headers: {}, text, body }
}
