import { X509Certificate } from 'node:crypto'
import { isObject, parseJsonObject } from '../../../shared/values/json.ts'
import { CommandEnded } from '../ended.ts'
import type { WorkloadCredentials } from '../login/signed-login.ts'
import { AwsCallError, type AwsCalls, awsEndpoint } from './aws-calls.ts'
import { textIn } from './cluster-api.ts'
import type { KubernetesAccess } from './kubernetes.ts'
import { presignAwsUrl } from './signed-request.ts'

interface EksCaller {
  region: string
  credentials(): Promise<WorkloadCredentials>
}

const TOKEN_S = 60

/**
 * Creates a bearer token for the Kubernetes API of an EKS cluster: a presigned GetCallerIdentity request of the
 * regional STS endpoint, which is valid for one cluster.
 */
export async function createEksToken(
  name: string,
  { region, credentials }: EksCaller,
  now = Date.now(),
): Promise<string> {
  const url = new URL(`${awsEndpoint('sts', region)}/?Action=GetCallerIdentity&Version=2011-06-15`)
  const request = { url, headers: { 'x-k8s-aws-id': name }, expires_s: TOKEN_S }
  const signed = presignAwsUrl(request, await credentials(), { service: 'sts', region, now })
  return `k8s-aws-v1.${Buffer.from(signed).toString('base64url')}`
}

/** Reads the answer of DescribeCluster. @throws Error if it does not name an HTTPS endpoint and a certificate */
function readCluster(name: string, text: string): { endpoint: string; ca: string } {
  const { cluster } = parseJsonObject(text) ?? {}
  const { certificateAuthority, status, ...more } = isObject(cluster) ? cluster : {}
  if (status !== 'ACTIVE' && status !== 'UPDATING')
    throw new CommandEnded('refused', `the EKS cluster ${name} is not active`)
  const endpoint = textIn(more, 'endpoint')
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url?.protocol !== 'https:') throw new Error(`EKS did not name an https endpoint of the cluster ${name}`)
  const data = isObject(certificateAuthority) ? certificateAuthority : {}
  const ca = new X509Certificate(Buffer.from(textIn(data, 'data'), 'base64')).toString()
  return { endpoint: url.origin, ca }
}

/** Finds an EKS cluster. @returns the access to its Kubernetes API, or undefined if no cluster has the name */
export async function findEksCluster(
  name: string,
  { calls, ...caller }: EksCaller & { calls: AwsCalls },
): Promise<KubernetesAccess | undefined> {
  try {
    const { text } = await calls.send('eks', { method: 'GET', path: `/clusters/${name}` })
    return { ...readCluster(name, text), createToken: () => createEksToken(name, caller) }
  } catch (error) {
    if (error instanceof AwsCallError && error.code === 'ResourceNotFoundException') return undefined
    throw error
  }
}
