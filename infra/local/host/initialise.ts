import { copyFileSync } from 'node:fs'
import { OTHER_VERSION_ADVICE } from '../../../shared/storage/format.ts'
import { externalEngineUrl } from '../engine/engine.ts'
import { type ClusterStateFile, readTextFile, writeFileAtomically } from '../os/cluster-file.ts'

/** Root token and recovery shares. */
export type SetKeys = Pick<ClusterStateFile, 'root_token' | 'recovery_keys'>

/** The content of `keys.json`. */
export interface StoredSetKeys extends SetKeys {
  /** further sets of shares that this host has seen, from an unfinished or a later replaced rekey */
  other_recovery_keys?: string[][]
}

/**
 * Initialises a new cluster, and returns its keys. For an initialised cluster, returns the stored keys
 * whatever its role, because a former primary's keys are the keys of its set.
 * @param url URL of the cluster's gateway
 */
export async function initialiseCluster(url: string, directory: string): Promise<StoredSetKeys> {
  const answer = await fetch(`${url}/v1/sys/init`, { method: 'PUT', body: '{}' })
  if (answer.ok) {
    const { root_token, recovery_keys } = (await answer.json()) as SetKeys
    storeSetKeys(directory, { root_token, recovery_keys })
    return { root_token, recovery_keys }
  }
  const text = await answer.text()
  // a cluster of another version serves no request, so its keys do not matter
  if (text.includes(OTHER_VERSION_ADVICE)) throw new Error(`the cluster cannot be started: ${text}`)
  const known = readTextFile(fileOf(directory)) ?? readTextFile(`${directory}/cluster.json`)
  if (known) {
    const { root_token, recovery_keys, other_recovery_keys = [] } = JSON.parse(known) as StoredSetKeys
    return { root_token, recovery_keys, other_recovery_keys }
  }
  if (await isSecondary(url)) return { root_token: "the primary's", recovery_keys: [] }
  if (!text.includes('already initialised')) throw new Error(`the cluster cannot be initialised: ${text}`)
  throw new Error(
    `the first start of this cluster was interrupted before its root token was stored, so the token is lost. Remove ${directory}${externalEngineUrl() === '' ? '' : ' and the tables of this cluster'} and start again`,
  )
}

/**
 * Writes keys to `keys.json`. A file with another root token is copied first, because the file may be the
 * only copy of that token.
 */
export function storeSetKeys(directory: string, keys: StoredSetKeys): void {
  const file = fileOf(directory)
  const [before, now] = [readTextFile(file), JSON.stringify(keys)]
  if (before === now) return
  if (before !== undefined && (JSON.parse(before) as StoredSetKeys).root_token !== keys.root_token)
    copyFileSync(file, `${directory}/keys.until-${Date.now()}.json`)
  writeFileAtomically(file, now)
}

const fileOf = (directory: string): string => `${directory}/keys.json`

async function isSecondary(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/v1/sys/replication/dr/status`)
  const { data } = (await answer.json()) as { data?: { mode?: string } }
  return data?.mode === 'secondary'
}
