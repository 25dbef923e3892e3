import { readTextFile, writeFileAtomically } from '../os/cluster-file.ts'
import type { ProviderControl } from '../provider/control.ts'
import { EXECUTION_USER } from '../provider/home.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'

/** Access keys of the imitated AWS that a cluster uses. */
interface Keys {
  /** access key that replaces the roles of the functions; stored with the imitated AWS's state */
  credentials: AccessKeyPair
  /**
   * access key of the host's user, the same for all clusters of an imitated AWS, so that one shell reaches
   * all clusters
   */
  operator: AccessKeyPair
}

/** Returns the access keys of a cluster, and creates missing keys. */
export async function makeClusterKeys(
  control: ProviderControl,
  cluster: string,
  directory: string,
  account: string,
): Promise<Keys> {
  const credentials = await executionKey(
    control,
    { account, name: `${EXECUTION_USER}-${cluster}` },
    directory,
  )
  return { credentials, operator: await control.operatorKey({}) }
}

async function executionKey(
  control: ProviderControl,
  user: { account: string; name: string },
  directory: string,
): Promise<AccessKeyPair> {
  const file = `${directory}/execution-key.json`
  const kept = readTextFile(file)
  if (kept !== undefined) return JSON.parse(kept) as AccessKeyPair
  // an imitated AWS that outlives its clusters may have a user of an earlier cluster of this name
  await control.deleteUser(user).catch(() => undefined)
  await control.putUser(user)
  const made = await control.createAccessKey({ account: user.account, user: user.name })
  writeFileAtomically(file, JSON.stringify(made))
  return made
}
