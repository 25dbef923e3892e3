import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Creates a directory, unless a directory from the same sources exists. The new directory is created next to
 * its place and moved to its place as a whole, so concurrent or interrupted runs leave one complete
 * directory.
 * @param from text that identifies the sources
 */
export async function updateBuildIfOutdated(
  directory: string,
  from: string,
  make: (directory: string) => Promise<void>,
): Promise<string> {
  if (isFrom(directory, from)) return directory
  const own = `${directory}.${randomUUID()}`
  mkdirSync(own, { recursive: true })
  try {
    await make(own)
    writeFileSync(stampOf(own), from)
    replace(directory, own, from)
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
  return directory
}

const stampOf = (directory: string): string => `${directory}/fingerprint`

const isFrom = (directory: string, from: string): boolean =>
  existsSync(stampOf(directory)) && readFileSync(stampOf(directory), 'utf8') === from

const TRIES = 5

/**
 * Moves a new directory to its place. The old directory is moved aside before it is deleted, because another
 * process may delete or replace it at the same time.
 * @throws Error if every try fails
 */
function replace(directory: string, own: string, from: string): void {
  const aside = `${own}.aside`
  for (let tries = 1; !isFrom(directory, from); tries++) {
    if (existsSync(directory)) moveAside(directory, aside)
    try {
      renameSync(own, directory)
      return
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}

function moveAside(directory: string, aside: string): void {
  try {
    renameSync(directory, aside)
  } catch {
    // another process was faster, so this process tries again
  }
  rmSync(aside, { recursive: true, force: true })
}
