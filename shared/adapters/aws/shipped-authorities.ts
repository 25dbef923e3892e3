import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Authorities } from '../../ports.ts'
import { promiseCache } from './promise-cache.ts'

/**
 * Certificates of authorities that the deployment has put beside the code, read once in the life of an environment.
 * @param file JSON, PEM by name; relative to where Lambda has the code; empty: none
 */
export function shippedAuthorities(file: string): Authorities {
  const kept = promiseCache<ReadonlyMap<string, string>>(1)
  const read = async () => {
    const text = await readFile(resolve(process.env['LAMBDA_TASK_ROOT'] ?? '', file), 'utf8')
    return new Map(Object.entries(JSON.parse(text) as Record<string, string>))
  }
  return { shipped: async () => (file === '' ? new Map() : kept.get(file, read)) }
}
