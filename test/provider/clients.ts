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

/** The account of most tests. */
export const account = '111122223333'

/** The region of most tests. */
export const region = 'eu-west-1'

/** Starts a provider that ends with the test. Only the test advances the provider's clock. */
export async function provider(options: ProviderOptions = {}): Promise<RunningProvider> {
  const now = Date.now()
  const started = await startProvider({ home: { account, region }, clock: () => now, ...options })
  onTestFinished(() => started.close())
  return started
}

/** Starts a provider and makes an IAM user `bob` of the usual account with a key. */
export async function providerWithUser(options: ProviderOptions = {}) {
  const { url, control, close } = await provider(options)
  const user = await control.putUser({ account, name: 'bob', path: '/team/' })
  const key = await control.createAccessKey({ account, user: 'bob' })
  return { url, control, close, user, key }
}

/** Returns the time of the provider's clock, in epoch milliseconds. */
export const nowOf = async ({ control }: Pick<RunningProvider, 'control'>): Promise<number> =>
  Date.parse((await control.advance({ seconds: 0 })).now)

/**
 * Returns real SDK clients of the provider. The clients try each call once, so that a test sees every answer.
 */
export function clientsOf(url: string, credentials: TestKey, inRegion = region) {
  // Only the parts for signatures: a session's `expiration` is text, and the SDK wants a Date or nothing.
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
