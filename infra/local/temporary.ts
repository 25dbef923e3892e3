import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'

const inMemory = '/dev/shm'

/** Makes a directory for what is kept for a while only: in memory, where there is such a place. Whoever asks removes it. */
export const temporaryDirectory = (): string =>
  mkdtempSync(`${existsSync(inMemory) ? inMemory : tmpdir()}/cloud-auth-`)
