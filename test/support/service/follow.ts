import type { LocalHost } from '../../../infra/local/host/host.ts'
import { toSetCluster } from '../../../infra/local/pair/dr-client.ts'
import { repointSecondary } from '../../../shared/set/run.ts'

/** Makes a cluster of the set follow a primary under a name, which ends an earlier admission. */
export const makeClusterFollow = (
  id: string,
  cluster: LocalHost,
  primary: LocalHost,
  token: string,
): Promise<void> =>
  repointSecondary({ primary: toSetCluster(primary, token), secondary: toSetCluster(cluster, token) }, id, {
    dr_operation_token: token,
  })
