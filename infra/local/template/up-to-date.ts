import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Makes a directory, unless it was made already from the same. It is made beside its place and moved there whole:
 * whoever begins at the same time, or after somebody was stopped halfway, makes it, too, and one of them stays.
 * @param from what it is made from, as a text
 */
export async function upToDate(
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
 * Puts what was made in its place. What was there is moved aside before it is removed, because another process may remove it,
 * or put its own there, at the same moment.
 * @throws when that goes on and on
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
    // another process was faster
  }
  rmSync(aside, { recursive: true, force: true })
}
