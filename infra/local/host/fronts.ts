import { startLocalGateway } from '../gateway/gateway.ts'
import { startLinkPort } from '../gateway/link-port.ts'
import { unroutedPathReasons } from '../gateway/unrouted.ts'
import { findSteadyPort, type ListeningServer } from '../os/loopback.ts'
import type { AssemblyModel, FunctionModel } from '../template/assembly.ts'
import type { CountMetric } from '../template/counts.ts'

/** Ports of the clients' front end and, if separate, of the other clusters' front end. */
export interface FrontPorts {
  clients: number
  /** port for other clusters; absent: the clients' front takes their calls */
  link?: number
}

/**
 * Chooses the ports before the functions start, because functions behind a load balancer need its address as
 * a variable.
 */
export async function choosePorts(
  { link }: Pick<AssemblyModel, 'link'>,
  { port, linkPort = 0 }: { port: number; linkPort?: number },
): Promise<FrontPorts> {
  if (!link) return { clients: port }
  return { clients: port || (await findSteadyPort()), link: linkPort || (await findSteadyPort()) }
}

/** Returns the address variables of a cluster's functions. */
export const addressVariables = ({ clients, link }: FrontPorts): Record<string, string> =>
  link === undefined
    ? {}
    : { API_ADDRESS: `http://127.0.0.1:${clients}`, LINK_ADDRESS: `http://127.0.0.1:${link}` }

/** Removes the template's addresses, which do not resolve on this machine, from a function. */
export function dropAddresses(one: FunctionModel): FunctionModel {
  const { API_ADDRESS: _api, LINK_ADDRESS: _link, ...environment } = one.environment
  return { ...one, environment }
}

interface FrontsOptions {
  model: AssemblyModel
  ports: FrontPorts
  /** port for gRPC, if the clients' front end takes calls of other clusters; 0: any */
  linkPort: number | undefined
  invoke: (functionName: string, event: unknown) => Promise<unknown>
  hold: () => Promise<void> | undefined
  started: <T extends { close(): Promise<void> | void }>(part: T) => T
  count: CountMetric | undefined
}

/** Starts the fronts for clients and for other clusters. */
export async function startLocalFronts(
  options: FrontsOptions,
): Promise<{ gateway: ListeningServer; link: ListeningServer }> {
  const { model, ports, linkPort, invoke, hold, started, count } = options
  const counted = count && { count }
  const extra = loopbackOnly(model)
  const gateway = started(
    await startLocalGateway({ front: model.clients, port: ports.clients, invoke, hold, extra, ...counted }),
  )
  const link = model.link
    ? await startLocalGateway({ front: model.link, port: ports.link ?? 0, invoke, ...counted })
    : await startLinkPort(gateway.url, linkPort)
  return { gateway, link: started(link) }
}

/** Returns the endpoints without a route, which this host serves on loopback only. */
const loopbackOnly = (model: Pick<AssemblyModel, 'functions'>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(unroutedPathReasons).map(([way, folder]) => [way, findFunctionName(model, folder)]),
  )

/** Returns the name of the function of a folder. */
export const findFunctionName = ({ functions }: Pick<AssemblyModel, 'functions'>, folder: string): string =>
  functions.find(one => one.folder === folder)?.name ?? ''
