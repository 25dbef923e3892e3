import type { Host } from '../host/host.ts'
import { keptAt } from '../os/cluster-file.ts'
import { askHost, askReplication } from './dr-client.ts'

const GENERATE = 'secondary/generate-operation-token'

/** Makes an operation token on a secondary, by as many of the set's recovery shares as it takes. Nobody else is needed. */
export async function tokenByShares(
  secondary: Pick<Host, 'base_url' | 'root_token' | 'cluster' | 'recovery_keys'>,
): Promise<string> {
  if (secondary.recovery_keys.length === 0)
    throw new Error(
      `no recovery shares that ${secondary.cluster} accepts are known here: stop it, write the present ones to "recovery_keys" in ${keptAt(secondary.cluster)}/keys.json, and start again`,
    )
  const { nonce, otp } = await asked<{ nonce: string; otp: string }>(secondary, `${GENERATE}/attempt`, {})
  for (const key of secondary.recovery_keys) {
    const { complete, encoded_token } = await asked<{ complete?: boolean; encoded_token?: string }>(
      secondary,
      `${GENERATE}/update`,
      { nonce, key },
    )
    if (!complete) continue
    const { data } = await askHost(secondary, 'sys/decode-token', { encoded_token, otp }, '')
    return String(data?.['token'])
  }
  throw new Error(`the recovery shares in the folder of ${secondary.cluster} are too few to operate it`)
}

/** Ceremonies answer without an envelope, and ask for no token. */
const asked = async <T>(
  secondary: Parameters<typeof tokenByShares>[0],
  path: string,
  body: object,
): Promise<T> => (await askReplication(secondary, path, body, '')) as T
