import { readFile } from 'node:fs/promises'
import type { Authorities } from '../../ports.ts'
import { createPromiseCache } from './promise-cache.ts'

/**
 * Reads the certificates of authorities that the deployment ships with the code, once per environment.
 * @param file JSON, PEM by name; empty: no shipped authorities
 */
export function readShippedAuthorities(file: string): Authorities {
  const kept = createPromiseCache<ReadonlyMap<string, string>>(1)
  const read = async () => {
    const all = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>
    return new Map(Object.entries(all))
  }
  return { shipped: async () => (file === '' ? new Map() : kept.get(file, read)) }
}
