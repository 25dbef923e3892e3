import { type Endpoint, pathsOf } from '../../../shared/api/endpoint.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { fresh } from '../service/cluster.ts'

/** A method and path of an endpoint. */
export interface Way {
  /** `GET /auth/:mount/role/:role` */
  title: string
  endpoint: Endpoint
  path: string
}

/** Every API endpoint with each of its paths. */
export const ways: readonly Way[] = endpointGroups.flatMap(group =>
  group.endpoints.flatMap(endpoint =>
    pathsOf(endpoint).map(path => ({ title: `${endpoint.method} ${path}`, endpoint, path })),
  ),
)

/**
 * Reports whether a request would end the service of the shared cluster. A request that ends the service succeeds
 * only on a test's own cluster.
 */
export const endsService = (path: string): boolean => path === '/sys/replication/dr/primary/demote'

/**
 * Reports whether a request changes the cluster's role, so that the cluster serves nothing for a moment.
 * Tests must not send such a request to a cluster that other test files call at the same time.
 */
export const changesRole = (path: string): boolean =>
  /^\/sys\/replication\/dr\/primary\/(enable|disable|demote)$/.test(path)

/** Fills the mount and fresh names into the template of a path. */
export const filled = (template: string, mount: string): string =>
  template.replace(/:(\w+)/g, (_, name: string) =>
    name === 'mount' ? mount.replace('/auth/', '') : fresh('x'),
  )
