import type { LocalHost } from '../host/host.ts'
import type { SetKeys } from '../host/initialise.ts'
import { type LastingHostOptions, startLastingHost } from '../host/lasting-host.ts'
import type { ClusterStateFile } from '../os/cluster-file.ts'
import { endProcessOnSignals } from '../os/ending.ts'

// Runs one cluster of a pair in its own process. The process takes its options as JSON, reports its
// addresses, and ends with its parent process.

/** Messages between the pair and the processes of its clusters. */
export type StartedMember = ClusterStateFile & Pick<LocalHost, 'fileFolder'>
export type MessageFromMember = { kind: 'started'; started: StartedMember } | { kind: 'keys'; keys: SetKeys }
export type MessageToMember = { adopt: SetKeys }

const ending = endProcessOnSignals(end => process.on('disconnect', end))
try {
  const tell = (keys: SetKeys) => process.send?.({ kind: 'keys', keys } satisfies MessageFromMember)
  const options = JSON.parse(process.argv[2] ?? '{}') as LastingHostOptions
  const host = await startLastingHost({ ...options, onKeys: tell })
  const { control: _control, runtimeOf: _runtime, adoptKeys, close, directory: _directory, ...started } = host
  ending.runs({ close })
  process.on('message', async ({ adopt }: MessageToMember) => {
    // if the host cannot reach its tables, it checks again later
    await adoptKeys(adopt).catch(() => undefined)
    tell({ root_token: host.root_token, recovery_keys: host.recovery_keys })
  })
  process.send?.({ kind: 'started', started } satisfies MessageFromMember)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
  process.disconnect?.()
}
