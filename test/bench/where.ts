import type { LocalHost } from '../../infra/local/host/host.ts'
import type { Where } from '../support/tables/store.ts'

/**
 * Returns the location of a host's tables, as one of its functions reaches the tables.
 * @param folder folder of the function
 */
export function whereIs(host: LocalHost, folder = 'login'): Where {
  const { environment } = host.runtimeOf(folder)
  return {
    engine_url: environment['AWS_ENDPOINT_URL_DYNAMODB'] ?? '',
    tables: { data: environment['DATA_TABLE'] ?? '', cluster: environment['CLUSTER_TABLE'] ?? '' },
    credentials: {
      accessKeyId: environment['AWS_ACCESS_KEY_ID'] ?? '',
      secretAccessKey: environment['AWS_SECRET_ACCESS_KEY'] ?? '',
    },
  }
}
