import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'

const inMemory = '/dev/shm'

/** Creates a temporary directory, in memory where possible. The caller removes the directory. */
export const makeTemporaryDirectory = (): string =>
  mkdtempSync(`${existsSync(inMemory) ? inMemory : tmpdir()}/cloud-auth-`)

/** Removes a directory when this process exits. @returns a function that removes the directory now */
export function removeDirectoryAtExit(directory: string): () => void {
  const remove = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  return () => {
    process.off('exit', remove)
    remove()
  }
}
