import { clusterDirectory } from './cluster-file.ts'
import { isDirectoryLockHeld } from './lock.ts'

/**
 * Returns the folder of a cluster's `cluster.json`. Tools look in `.local/<cluster>`. A cluster without
 * stored state uses its own directory instead while a stored cluster of the same name runs.
 * @param directory of the cluster
 * @returns undefined if the cluster is unlisted and has no file
 */
export function chooseAuditFileFolder(
  { cluster, memory, unlisted = false }: { cluster: string; memory: boolean; unlisted?: boolean },
  directory: string,
): string | undefined {
  if (unlisted) return undefined
  return memory && isDirectoryLockHeld(clusterDirectory(cluster), 'host')
    ? directory
    : clusterDirectory(cluster)
}
