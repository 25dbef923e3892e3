import { readFileSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { type ClusterFile, startHost } from '../../infra/local/host.ts'

declare module 'vitest' {
  interface ProvidedContext {
    cluster: ClusterFile & { directory: string; tables: { data: string; cluster: string } }
  }
}

/** One host for all integration tests; each test file makes a mount of its own on it. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const host = await startHost({ cluster: 'test', port: 0, memory: true, tap: true, concurrency: 4 })
  const file = JSON.parse(readFileSync(`${host.directory}/cluster.json`, 'utf8')) as ClusterFile
  const { DATA_TABLE = '', CLUSTER_TABLE = '' } = host.runtimeOf('login').environment
  provide('cluster', {
    ...file,
    directory: host.directory,
    tables: { data: DATA_TABLE, cluster: CLUSTER_TABLE },
  })
  return host.close
}
