import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseAuthorities } from '../../shared/replication/handlers/certificates.ts'

/** File with CA certificates in a bundle, which `shipAuthorities` writes. */
export const AUTHORITIES_FILE = 'authorities.json'

const LARGEST = 1_048_576

/**
 * Reads the certificates of a folder and its subfolders.
 * @param folder relative to the working directory
 * @returns PEM by name, relative to the folder
 * @throws Error if the folder does not exist, or a file contains anything but CA certificates
 */
export function readAuthorities(folder: string): Record<string, string> {
  const from = resolve(folder)
  const names = readdirSync(from, { recursive: true, encoding: 'utf8' }).sort()
  const files = names.filter(name => statSync(`${from}/${name}`).isFile())
  if (files.length === 0) throw new Error(`the folder ${folder} has no files`)
  const found = files.map(name => [name, readFileSync(`${from}/${name}`, 'utf8')] as const)
  const strange = found.find(([, text]) => parseAuthorities(text) === undefined)
  if (strange)
    throw new Error(`${folder}/${strange[0]} must contain PEM certificates of CAs and nothing else`)
  if (found.reduce((sum, [, text]) => sum + text.length, 0) > LARGEST)
    throw new Error(`the certificates in ${folder} are larger than 1 MiB in total`)
  return Object.fromEntries(found)
}

/** Writes the certificates of a folder to one file for the functions. @throws see `readAuthorities` */
export function shipAuthorities(folder: string, file: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(readAuthorities(folder)))
}
