import type { TestProject } from 'vitest/node'
import { startLocalHost } from '../../../infra/local/host/host.ts'
import type { ClusterStateFile } from '../../../infra/local/os/cluster-file.ts'
import type { AccessKeyPair } from '../../../infra/local/provider/wire/signed-server.ts'
import { frontOption } from '../service/other-fronts.ts'
import { frontNamed } from '../service/which-front.ts'

declare module 'vitest' {
  interface ProvidedContext {
    cluster: ClusterStateFile & {
      directory: string
      engine_url: string
      tables: { data: string; cluster: string; ceremony: string }
      credentials: AccessKeyPair
      /** code and environment of the login function on the host, for a test that starts its own process */
      login_runtime: { code: string; environment: Record<string, string> }
    }
  }
}

/** Starts one host for all integration tests. Each test file makes its own mount on the host. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const host = await startLocalHost({ cluster: 'test', port: 0, memory: true, ...frontOption(frontNamed()) })
  const { control: _control, adoptKeys: _adopt, runtimeOf, close, ...known } = host
  const { environment } = runtimeOf('generate-root')
  const variable = (name: string): string => environment[name] ?? ''
  provide('cluster', {
    ...known,
    engine_url: variable('AWS_ENDPOINT_URL_DYNAMODB'),
    tables: {
      data: variable('DATA_TABLE'),
      cluster: variable('CLUSTER_TABLE'),
      ceremony: variable('CEREMONY_TABLE'),
    },
    credentials: {
      accessKeyId: variable('AWS_ACCESS_KEY_ID'),
      secretAccessKey: variable('AWS_SECRET_ACCESS_KEY'),
    },
    login_runtime: runtimeOf('login'),
  })
  return close
}
