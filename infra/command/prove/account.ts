import { setTimeout } from 'node:timers/promises'
import type { ApiConnection, CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { exchangeApiRequest } from '../exchange.ts'
import { findAwsCredentials } from '../login/caller-request.ts'
import { signLogin } from '../login/signed-login.ts'
import { type AwsCalls, createAwsCalls, readAwsEndpoint, readXmlTexts } from './aws-calls.ts'
import { createProveCloud, type ProveCloud } from './cloud.ts'
import { findEksCluster } from './eks.ts'
import { isRegionName } from './journal.ts'
import type { KubernetesAccess } from './kubernetes.ts'

/** The account of a run. */
export interface ProveAccount {
  id: string
  cloud: ProveCloud
  callStsForGlobalHost(): Promise<number>
  /** returns the access to an EKS cluster, or undefined if no cluster has the name */
  findEksCluster(name: string): Promise<KubernetesAccess | undefined>
}

const readAccount = async (calls: AwsCalls): Promise<string> => {
  const account = readXmlTexts(await calls.query('sts', '2011-06-15', 'GetCallerIdentity'), 'Account')[0]
  if (account === undefined) throw new Error('STS did not name the account')
  return account
}

/**
 * Opens the account of the caller's credentials.
 * @throws CommandEnded `refused` without valid credentials
 */
export async function openProveAccount(
  region: string | undefined,
  profile: string | undefined,
  environment: CommandEnvironment,
  connection: ApiConnection,
): Promise<ProveAccount> {
  if (!isRegionName(region))
    throw new CommandEnded('usage', '--region must be the region of the stacks, such as eu-west-1')
  const endpoint = readAwsEndpoint(environment)
  const credentials = await findAwsCredentials(region, profile)
  const calls = createAwsCalls({ region, endpoint, credentials })
  const id = await readAccount(calls).catch((error: Error) => {
    throw new CommandEnded('refused', `the AWS credentials cannot be used: ${error.message}`)
  })
  const host = 'sts.amazonaws.com'
  const callStsForGlobalHost = async (): Promise<number> => {
    const signed = signLogin(await credentials(), { region, host })
    const decode = (name: string): string => Buffer.from(signed[name] ?? '', 'base64').toString()
    const url = new URL(calls.endpointOf('sts'))
    const headers = JSON.parse(decode('iam_request_headers')) as Record<string, string>
    const asking = { method: 'POST', headers, text: decode('iam_request_body') } as const
    const { status } = await exchangeApiRequest(url, asking, { ...connection, servername: url.hostname })
    return status
  }
  return {
    id,
    cloud: createProveCloud(calls),
    callStsForGlobalHost,
    findEksCluster: name => findEksCluster(name, { region, credentials, calls }),
  }
}

/** Waits, and rejects when the signal is aborted. */
export const waitForMs = (ms: number, signal?: AbortSignal): Promise<unknown> =>
  setTimeout(ms, undefined, signal === undefined ? {} : { signal })
