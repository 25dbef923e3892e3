import type { JobResult, JobRun } from '../../jobs/job.ts'
import { key } from '../../storage/kinds.ts'
import { providerSettings } from '../config/accounts.ts'
import { finishRotation } from './finish.ts'

const DROP_KEY_TIMEOUT_MS = 15_000

/** Ends a rotation that could not delete its old key: the hourly round starts this for every such mount. */
export async function dropOldKey(run: JobRun, { mount }: { mount: string }): Promise<JobResult> {
  const { store, cipher, accessKeys, clock } = run.ports
  const [config] = await store.read([key('client-config', mount)])
  const cluster = await run.cluster()
  if (!config?.data.previousSecretKey || !cluster) return 'done'
  const { userName } = await accessKeys.owner(
    await providerSettings(config, cipher),
    clock.now() + DROP_KEY_TIMEOUT_MS,
  )
  const finish =
    userName === undefined
      ? undefined
      : await finishRotation(config, userName, run.ports, DROP_KEY_TIMEOUT_MS)
  if (finish?.state === 'finished') await store.commit([finish.change], cluster)
  return 'done'
}
