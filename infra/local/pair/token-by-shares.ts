import type { LocalHost } from '../host/host.ts'
import { clusterDirectory } from '../os/cluster-file.ts'
import { requestHost, requestReplication } from './dr-client.ts'

const GENERATE = 'secondary/generate-operation-token'

/** Generates an operation token on a secondary from the set's recovery shares. */
export async function generateTokenByShares(
  secondary: Pick<LocalHost, 'base_url' | 'root_token' | 'cluster' | 'recovery_keys'>,
): Promise<string> {
  if (secondary.recovery_keys.length === 0)
    throw new Error(
      `this host knows no recovery shares that ${secondary.cluster} accepts. Stop it, write the present shares to "recovery_keys" in ${clusterDirectory(secondary.cluster)}/keys.json, and start again`,
    )
  const { nonce, otp } = await asked<{ nonce: string; otp: string }>(secondary, `${GENERATE}/attempt`, {})
  for (const key of secondary.recovery_keys) {
    const { complete, encoded_token } = await asked<{ complete?: boolean; encoded_token?: string }>(
      secondary,
      `${GENERATE}/update`,
      { nonce, key },
    )
    if (!complete) continue
    const { data } = await requestHost(secondary, 'sys/decode-token', { encoded_token, otp }, '')
    return String(data?.['token'])
  }
  throw new Error(
    `the folder of ${secondary.cluster} has too few recovery shares to generate an operation token`,
  )
}

/** Sends a ceremony request, which needs no token and whose answer has no envelope. */
const asked = async <T>(
  secondary: Parameters<typeof generateTokenByShares>[0],
  path: string,
  body: object,
): Promise<T> => (await requestReplication(secondary, path, body, '')) as T
