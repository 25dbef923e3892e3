import { type Endpoint, pathsOf } from '../../../shared/api/endpoint.ts'
import { groups } from '../../../shared/endpoints/all.ts'

const VERBS = {
  GET: ['GET', 'HEAD'],
  POST: ['POST', 'PUT'],
  DELETE: ['DELETE'],
  LIST: ['LIST'],
} as const satisfies Record<Endpoint['method'], readonly string[]>

/**
 * Endpoints without route, by verb and path, with the folder of their function: on AWS it is invoked directly, on
 * this host they are reachable on loopback.
 */
export const unrouted: Readonly<Record<string, string>> = Object.fromEntries(
  groups.flatMap(({ name, endpoints }) =>
    endpoints
      .filter(endpoint => endpoint.unrouted)
      .flatMap(endpoint =>
        pathsOf(endpoint).flatMap(path => VERBS[endpoint.method].map(verb => [`${verb} /v1${path}`, name])),
      ),
  ),
)
