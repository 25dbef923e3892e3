import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { writeFileAtomically } from '../os/cluster-file.ts'
import { exitAfter } from '../os/ending.ts'
import { takeLock } from '../os/lock.ts'
import { HOME_ACCOUNT } from './home.ts'
import { LOCKED_EXIT_CODE } from './note.ts'
import { type ProviderOptions, startProvider } from './provider.ts'

// Usage: node infra/local/provider/main.ts [--port N] [--state FILE] node infra/local/provider/main.ts
// --directory DIR [--port N] [--region REGION] With a directory the provider stores its state and its address
// in the directory, and ends when no process needs it.

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    state: { type: 'string' },
    directory: { type: 'string' },
    region: { type: 'string', default: HOME_ACCOUNT.region },
  },
})

let stopping = false
function stop(work: Promise<unknown>): void {
  if (stopping) return
  stopping = true
  exitAfter(work)
}

async function main(more: ProviderOptions): Promise<void> {
  const provider = await startProvider({ port: Number(values.port ?? 0), ...more })
  const told = { url: provider.url, control_token: provider.controlToken }
  if (values.directory !== undefined)
    writeFileAtomically(`${values.directory}/aws.json`, JSON.stringify({ ...told, pid: process.pid }))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(provider.close()))
  process.stdout.write(`${JSON.stringify(told)}\n`)
}

/** Locks a directory for this process, and returns the provider's options for the directory. */
async function inDirectory(directory: string): Promise<ProviderOptions> {
  await takeLock(directory, 'aws', () => new Error('another process holds the lock')).catch(() =>
    process.exit(LOCKED_EXIT_CODE),
  )
  return {
    stateFile: `${directory}/provider.json`,
    home: { ...HOME_ACCOUNT, region: values.region },
    onBusEvent: event => appendFileSync(`${directory}/events.ndjson`, `${JSON.stringify(event)}\n`),
    leases: { directory, onNone: saved => stop(saved) },
  }
}

await main(
  values.directory === undefined
    ? values.state === undefined
      ? {}
      : { stateFile: values.state }
    : await inDirectory(values.directory),
)
