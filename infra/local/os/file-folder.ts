import { keptAt } from './cluster-file.ts'
import { isLockHeld } from './lock.ts'

/**
 * Returns the folder in which a cluster's `cluster.json` is written. Tools look in `.local/<cluster>`. A cluster in memory
 * leaves that file to a cluster of its name that runs from disk, and has one in its own directory.
 * @param directory of the cluster
 * @returns undefined where it is unlisted: there is no file
 */
export function fileFolderOf(
  { cluster, memory, unlisted = false }: { cluster: string; memory: boolean; unlisted?: boolean },
  directory: string,
): string | undefined {
  if (unlisted) return undefined
  return memory && isLockHeld(keptAt(cluster), 'host') ? directory : keptAt(cluster)
}
