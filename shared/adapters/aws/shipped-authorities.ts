import { readFile } from 'node:fs/promises'
import type { Authorities } from '../../ports.ts'
import { promiseCache } from './promise-cache.ts'

/**
 * Certificates of authorities that the deployment has put beside the code, read once in the life of an environment.
 * @param file JSON, PEM by name; empty: none
 */
export function shippedAuthorities(file: string): Authorities {
  const kept = promiseCache<ReadonlyMap<string, string>>(1)
  const read = async () => {
    const all = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>
    return new Map(Object.entries(all))
  }
  return { shipped: async () => (file === '' ? new Map() : kept.get(file, read)) }
}
