import type { Host } from '../host/host.ts'
import type { SetKeys } from '../host/initialise.ts'
import { type LastingOptions, startLasting } from '../host/lasting-host.ts'
import type { ClusterFile } from '../os/cluster-file.ts'
import { endOnSignals } from '../os/ending.ts'

// The process of one cluster of a pair. It takes its options as JSON, reports its addresses, and ends with its parent
// process.

/** Messages between the pair and the processes of its clusters. */
export type Started = ClusterFile & Pick<Host, 'fileFolder'>
export type FromMember = { kind: 'started'; started: Started } | { kind: 'keys'; keys: SetKeys }
export type ToMember = { adopt: SetKeys }

const ending = endOnSignals(end => process.on('disconnect', end))
try {
  const tell = (keys: SetKeys) => process.send?.({ kind: 'keys', keys } satisfies FromMember)
  const options = JSON.parse(process.argv[2] ?? '{}') as LastingOptions
  const host = await startLasting({ ...options, onKeys: tell })
  const { control: _control, runtimeOf: _runtime, adoptKeys, close, directory: _directory, ...started } = host
  ending.runs({ close })
  process.on('message', async ({ adopt }: ToMember) => {
    // without its tables the host checks again later
    await adoptKeys(adopt).catch(() => undefined)
    tell({ root_token: host.root_token, recovery_keys: host.recovery_keys })
  })
  process.send?.({ kind: 'started', started } satisfies FromMember)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
  process.disconnect?.()
}
