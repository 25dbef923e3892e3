import { type ClusterFile, textOf, writeWhole } from './cluster-file.ts'
import { externalEngine } from './engine.ts'

type Keys = Pick<ClusterFile, 'root_token' | 'recovery_keys'>

/**
 * Initialises a new cluster; the keys of an old one have been kept.
 * @param url of its gateway
 */
export async function initialised(url: string, directory: string): Promise<Keys> {
  const file = `${directory}/keys.json`
  const answer = await fetch(`${url}/v1/sys/init`, { method: 'PUT', body: '{}' })
  if (answer.ok) {
    const { root_token, recovery_keys } = (await answer.json()) as Keys
    writeWhole(file, JSON.stringify({ root_token, recovery_keys }))
    return { root_token, recovery_keys }
  }
  if (await isSecondary(url)) return forgetOwnKeys(directory)
  const known = textOf(file) ?? textOf(`${directory}/cluster.json`)
  if (known) {
    const { root_token, recovery_keys } = JSON.parse(known) as Keys
    return { root_token, recovery_keys }
  }
  const text = await answer.text()
  if (!text.includes('already initialised')) throw new Error(`the cluster cannot be initialised: ${text}`)
  throw new Error(
    `the first start of this cluster was broken off before its root token was written down, and nobody can know it any more: remove ${directory}${externalEngine() === '' ? '' : ' and the tables of this cluster'} and start anew`,
  )
}

/** Keys that were made here mean nothing any more: those of the primary hold. */
export function forgetOwnKeys(directory: string): Keys {
  const keys: Keys = { root_token: "the primary's", recovery_keys: [] }
  writeWhole(`${directory}/keys.json`, JSON.stringify(keys))
  return keys
}

async function isSecondary(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/v1/sys/replication/dr/status`)
  const { data } = (await answer.json()) as { data?: { mode?: string } }
  return data?.mode === 'secondary'
}
