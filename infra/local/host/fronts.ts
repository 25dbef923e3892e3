import { startLocalGateway } from '../gateway/gateway.ts'
import { startLinkPort } from '../gateway/link-port.ts'
import { createHttpApi, type Front } from '../gateway/shapes.ts'
import { unroutedPathReasons } from '../gateway/unrouted.ts'
import type { HostObserver } from '../lambda/lambdas.ts'
import { findSteadyPort, type ListeningServer } from '../os/loopback.ts'
import type { AssemblyModel, AssemblyResources, FunctionModel } from '../template/assembly.ts'

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

/** A front end for clients that the host itself does not imitate. */
export interface ImitatedFront {
  /** settings that choose this front end */
  settings: object
  /** reads this front end from the templates */
  read(resources: AssemblyResources): Front
}

interface FrontsOptions {
  /** `linkPort`: port for gRPC, if the clients' front end takes calls of other clusters; 0: any */
  options: { linkPort?: number; observer?: HostObserver }
  model: AssemblyModel
  /** front end for clients; undefined: the HTTP API */
  clients: Front | undefined
  ports: FrontPorts
  invoke: (functionName: string, event: unknown) => Promise<unknown>
  hold: () => Promise<void> | undefined
  started: <T extends { close(): Promise<void> | void }>(part: T) => T
}

/** Starts the fronts for clients and for other clusters. */
export async function startLocalFronts(
  site: FrontsOptions,
): Promise<{ gateway: ListeningServer; link: ListeningServer }> {
  const { model, clients, ports, invoke, hold, started } = site
  const { linkPort, observer } = site.options
  const gateway = started(
    await startLocalGateway({
      front: clients ?? createHttpApi(model.clients),
      port: ports.clients,
      invoke,
      hold,
      extra: loopbackOnly(model),
      onServerError: by => observer?.onServerError('clients', by),
    }),
  )
  const link = model.link
    ? await startLocalGateway({
        front: createHttpApi(model.link),
        port: ports.link ?? 0,
        invoke,
        onServerError: by => observer?.onServerError('link', by),
      })
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
