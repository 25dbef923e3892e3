import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makePrivateFolder } from '../../os/cluster-file.ts'
import { emptyProviderState, type ProviderState } from './state.ts'

/** Reads the state of an earlier run. Without a file the state is empty. */
export const loadProviderState = (path: string | undefined): ProviderState =>
  path !== undefined && existsSync(path)
    ? { ...emptyProviderState(), ...JSON.parse(readFileSync(path, 'utf8'), revive) }
    : emptyProviderState()

/** Writes `state` to its file after changes. */
export interface ProviderStateWriter {
  changed(): void
  /** Resolves when every change so far is in the file; rejects if the file could not be written. */
  saved(): Promise<void>
}

/**
 * Creates a writer that replaces the whole state file, so that a crash leaves the old or the new file.
 * Changes during a write are written together by the next write.
 * @param path absent: nothing is written and `saved` resolves at once; the folder of the file is created
 */
export function createStateWriter(path: string | undefined, state: ProviderState): ProviderStateWriter {
  if (path === undefined) return { changed: () => undefined, saved: () => Promise.resolve() }
  makePrivateFolder(dirname(path))
  let last = Promise.resolve()
  let queued = false
  const write = async () => {
    queued = false
    await writeFile(`${path}.new`, JSON.stringify(state, flatten), { mode: 0o600 })
    await rename(`${path}.new`, path)
  }
  const changed = () => {
    if (queued) return
    queued = true
    last = last.catch(() => undefined).then(write)
    // a caller of `saved` sees the failure; without this handler the failure would end the process
    last.catch(() => undefined)
  }
  return { changed, saved: () => last }
}

const flatten = (_name: string, value: unknown): unknown => {
  if (value instanceof Map) return { $map: [...value] }
  if (value instanceof Set) return { $set: [...value] }
  return value
}

const revive = (_name: string, value: unknown): unknown => {
  const { $map, $set } = Object(value) as { $map?: unknown; $set?: unknown }
  if (Array.isArray($map)) return new Map($map)
  return Array.isArray($set) ? new Set($set) : value
}
