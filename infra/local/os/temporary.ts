import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'

const inMemory = '/dev/shm'

/** Makes a directory for what is kept for a while only: in memory, where there is such a place. Whoever asks removes it. */
export const temporaryDirectory = (): string =>
  mkdtempSync(`${existsSync(inMemory) ? inMemory : tmpdir()}/cloud-auth-`)

/** Has a directory go with this process, however it exits. @returns removes it now */
export function goesWithProcess(directory: string): () => void {
  const remove = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  return () => {
    process.off('exit', remove)
    remove()
  }
}
