import { type EndpointUse, usesOf } from '../../shared/api/endpoint.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import { linkUses } from '../../shared/link/routes.ts'
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'

/**
 * Returns the declared uses of a function, from its group's endpoints or the table of workers. The function
 * of the link has no endpoints.
 */
export const declaredUsesOfFunction = (name: string): readonly EndpointUse[] => {
  const worker = (workerDefinitions as Record<string, WorkerDefinition>)[name]
  if (name === 'link') return linkUses
  return worker?.uses ?? usesOf(endpointGroups.find(one => one.name === name) ?? { name, endpoints: [] })
}
