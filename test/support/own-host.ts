import { readFileSync } from 'node:fs'
import { type ClusterFile, type HostOptions, startHost } from '../../infra/local/host.ts'
import { type CallOptions, call, type Reply } from './api.ts'

/** A host that a test file has to itself, because it turns a setting of the whole host. */
export async function ownHost(options: Partial<HostOptions>) {
  const host = await startHost({
    cluster: 'own',
    port: 0,
    memory: true,
    tap: true,
    concurrency: 4,
    ...options,
  })
  const { DATA_TABLE = '', CLUSTER_TABLE = '' } = host.runtimeOf('login').environment
  const file = JSON.parse(readFileSync(`${host.directory}/cluster.json`, 'utf8')) as ClusterFile
  const api = (method: string, path: string, body?: unknown, more: CallOptions = {}): Promise<Reply> =>
    call(file.base_url, method, path, body, { token: file.root_token, ...more })
  return {
    ...file,
    api,
    close: host.close,
    directory: host.directory,
    tables: { data: DATA_TABLE, cluster: CLUSTER_TABLE },
  }
}
