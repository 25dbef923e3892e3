import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs'
import { EC2Client } from '@aws-sdk/client-ec2'
import { IAMClient } from '@aws-sdk/client-iam'
import { KMSClient } from '@aws-sdk/client-kms'
import { STSClient } from '@aws-sdk/client-sts'
import { onTestFinished } from 'vitest'
import {
  type ProviderOptions,
  type RunningProvider,
  startProvider,
} from '../../infra/local/provider/provider.ts'
import type { TestKey } from './hand-signer.ts'

/** The account most tests live in. */
export const account = '111122223333'

/** The region most tests live in. */
export const region = 'eu-west-1'

/** A provider that ends with the test. Its clock stands still: only the test advances it. */
export async function provider(options: ProviderOptions = {}): Promise<RunningProvider> {
  const now = Date.now()
  const started = await startProvider({ home: { account, region }, clock: () => now, ...options })
  onTestFinished(() => started.close())
  return started
}

/** A provider and an IAM user `bob` of the usual account with a key. */
export async function providerWithUser(options: ProviderOptions = {}) {
  const { url, control, close } = await provider(options)
  const user = await control.putUser({ account, name: 'bob', path: '/team/' })
  const key = await control.createAccessKey({ account, user: 'bob' })
  return { url, control, close, user, key }
}

/** What the provider's clock says, epoch milliseconds. */
export const nowOf = async ({ control }: Pick<RunningProvider, 'control'>): Promise<number> =>
  Date.parse((await control.advance({ seconds: 0 })).now)

/** Real SDK clients of the provider; one attempt per call, so that a test sees each answer. */
export function clientsOf(url: string, credentials: TestKey, inRegion = region) {
  // Only what signs: a session's `expiration` is text, and the SDK wants a Date or nothing.
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const identity = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  const settings = { endpoint: url, region: inRegion, credentials: identity, maxAttempts: 1 }
  return {
    sts: new STSClient(settings),
    ec2: new EC2Client(settings),
    iam: new IAMClient(settings),
    kms: new KMSClient(settings),
    logs: new CloudWatchLogsClient(settings),
  }
}
