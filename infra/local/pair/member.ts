import type { LocalHost } from '../host/host.ts'
import type { SetKeys } from '../host/initialise.ts'
import { type LastingHostOptions, startLastingHost } from '../host/lasting-host.ts'
import type { ClusterStateFile } from '../os/cluster-file.ts'
import { endProcessOnSignals } from '../os/ending.ts'

// Runs one cluster of a pair in its own process. The process takes its options as JSON, reports its
// addresses and keys, and ends with its parent process.

/** The report of a started cluster. The process sends another report when the keys have changed. */
export type StartedMember = ClusterStateFile & Pick<LocalHost, 'fileFolder'>
export type MessageToMember = { adopt: SetKeys }

const ending = endProcessOnSignals(end => process.on('disconnect', end))
try {
  const options = JSON.parse(process.argv[2] ?? '{}') as LastingHostOptions
  let report = (): void => undefined
  const host = await startLastingHost({ ...options, onKeys: () => report() })
  const { control: _control, runtimeOf: _runtime, adoptKeys, close, directory: _directory, ...started } = host
  ending.runs({ close })
  report = () => {
    const { root_token, recovery_keys } = host
    process.send?.({ ...started, root_token, recovery_keys } satisfies StartedMember)
  }
  process.on('message', async ({ adopt }: MessageToMember) => {
    // if the host cannot reach its tables, it checks again later
    await adoptKeys(adopt).catch(() => undefined)
    report()
  })
  report()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
  process.disconnect?.()
}
