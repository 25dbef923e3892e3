import { type Endpoint, pathsOf } from '../../../shared/api/endpoint.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'

const VERBS = {
  GET: ['GET', 'HEAD'],
  POST: ['POST', 'PUT'],
  DELETE: ['DELETE'],
  LIST: ['LIST'],
} as const satisfies Record<Endpoint['method'], readonly string[]>

/**
 * Endpoints without a route, by verb and path, with their function's folder. On AWS operators invoke these
 * functions directly; this host serves the endpoints on loopback.
 */
export const unroutedPathReasons: Readonly<Record<string, string>> = Object.fromEntries(
  endpointGroups.flatMap(({ name, endpoints }) =>
    endpoints
      .filter(endpoint => endpoint.unrouted)
      .flatMap(endpoint =>
        pathsOf(endpoint).flatMap(path => VERBS[endpoint.method].map(verb => [`${verb} /v1${path}`, name])),
      ),
  ),
)
