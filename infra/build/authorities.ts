import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseAuthorities } from '../../shared/replication/handlers/certificates.ts'

/** Where a bundle has what `shipAuthorities` wrote. */
export const AUTHORITIES_FILE = 'authorities.json'

const LARGEST = 1_048_576

/**
 * The certificates of a folder, and of those inside it.
 * @param folder relative to where the app runs
 * @returns PEM by name, relative to the folder
 * @throws Error for a folder that is none, and for a file that holds anything but certificates of authorities
 */
export function readAuthorities(folder: string): Record<string, string> {
  const from = resolve(folder)
  const names = readdirSync(from, { recursive: true, encoding: 'utf8' }).sort()
  const files = names.filter(name => statSync(`${from}/${name}`).isFile())
  if (files.length === 0) throw new Error(`there are no files in ${folder}`)
  const found = files.map(name => [name, readFileSync(`${from}/${name}`, 'utf8')] as const)
  const strange = found.find(([, text]) => parseAuthorities(text) === undefined)
  if (strange)
    throw new Error(`${folder}/${strange[0]} must hold certificates of authorities, PEM, and nothing else`)
  if (found.reduce((sum, [, text]) => sum + text.length, 0) > LARGEST)
    throw new Error(`the certificates in ${folder} come to more than 1 MiB`)
  return Object.fromEntries(found)
}

/** Writes the certificates of a folder into one file, as functions read them. @throws as `readAuthorities` */
export function shipAuthorities(folder: string, file: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(readAuthorities(folder)))
}
