import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkoutRoot } from '../../../infra/checkout.ts'
import type { ClusterStateFile } from '../../../infra/local/os/cluster-file.ts'
import { makeTemporaryDirectory } from '../../../infra/local/os/temporary.ts'
import { createRemoteControl, type ProviderControl } from '../../../infra/local/provider/control.ts'
import { commandFile } from './command.ts'
import { cleanUp, startIn } from './npm-start.ts'

/** A cluster in a folder in which a reader of the pages works. */
export interface PagesCluster {
  /** folder with `docs`, and the command in `.build` and `bin` */
  checkout: string
  cluster: ClusterStateFile
  aws: ProviderControl
  end(): Promise<void>
}

/**
 * Starts a cluster in a folder of its own, because a cluster named `local` may run on the same machine, and waits
 * until the cluster serves.
 */
export async function startPagesCluster(): Promise<PagesCluster> {
  const checkout = makeTemporaryDirectory()
  const run = startIn({ CLOUD_AUTH_STATE: `${checkout}/.local` }, '--port', '0')
  const end = async () => {
    run.child.kill('SIGTERM')
    await run.ended
    cleanUp()
    rmSync(checkout, { recursive: true, force: true })
  }
  try {
    symlinkSync(`${checkoutRoot}docs`, `${checkout}/docs`)
    symlinkSync(dirname(commandFile), `${checkout}/.build`)
    mkdirSync(`${checkout}/bin`)
    symlinkSync(commandFile, `${checkout}/bin/cloud-auth`)
    await run.until('Serving.')
    const file = readFileSync(`${checkout}/.local/local/cluster.json`, 'utf8')
    const cluster: ClusterStateFile = JSON.parse(file)
    return { checkout, cluster, aws: createRemoteControl(cluster.provider_url, cluster.control_token), end }
  } catch (error) {
    await end()
    throw error
  }
}
