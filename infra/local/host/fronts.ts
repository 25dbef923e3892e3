import { startGateway } from '../gateway/gateway.ts'
import { startLinkPort } from '../gateway/link-port.ts'
import { unrouted } from '../gateway/unrouted.ts'
import { type Listening, steadyPort } from '../os/loopback.ts'
import type { FunctionModel, Model } from '../template/assembly.ts'
import type { Count } from '../template/counts.ts'

/** Ports of the fronts: where clients come, and, if that is another one, where other clusters do. */
export interface FrontPorts {
  clients: number
  /** absent: clients' front takes their calls */
  link?: number
}

/** Chosen before the functions start where these have to be told them: what is behind a balancer does not see its name. */
export async function portsOf(
  { link }: Pick<Model, 'link'>,
  { port, linkPort = 0 }: { port: number; linkPort?: number },
): Promise<FrontPorts> {
  if (!link) return { clients: port }
  return { clients: port || (await steadyPort()), link: linkPort || (await steadyPort()) }
}

/** What functions are told of the addresses of their cluster. */
export const addressVariables = ({ clients, link }: FrontPorts): Record<string, string> =>
  link === undefined
    ? {}
    : { API_ADDRESS: `http://127.0.0.1:${clients}`, LINK_ADDRESS: `http://127.0.0.1:${link}` }

/** A function without the names of the template, which lead nowhere on this machine. */
export function withoutNames(one: FunctionModel): FunctionModel {
  const { API_ADDRESS: _api, LINK_ADDRESS: _link, ...environment } = one.environment
  return { ...one, environment }
}

interface FrontsOptions {
  model: Model
  ports: FrontPorts
  /** of the port that speaks gRPC, where clients' front takes calls of other clusters; 0: any */
  linkPort: number | undefined
  invoke: (functionName: string, event: unknown) => Promise<unknown>
  hold: () => Promise<void> | undefined
  started: <T extends { close(): Promise<void> | void }>(part: T) => T
  count: Count | undefined
}

/** Starts what takes requests of clients, and what takes calls of other clusters. */
export async function startFronts(options: FrontsOptions): Promise<{ gateway: Listening; link: Listening }> {
  const { model, ports, linkPort, invoke, hold, started, count } = options
  const counted = count && { count }
  const extra = loopbackOnly(model)
  const gateway = started(
    await startGateway({ front: model.clients, port: ports.clients, invoke, hold, extra, ...counted }),
  )
  const link = model.link
    ? await startGateway({ front: model.link, port: ports.link ?? 0, invoke, ...counted })
    : await startLinkPort(gateway.url, linkPort)
  return { gateway, link: started(link) }
}

/** What has no route is reachable on loopback only. */
const loopbackOnly = (model: Pick<Model, 'functions'>): Record<string, string> =>
  Object.fromEntries(Object.entries(unrouted).map(([way, folder]) => [way, namedOf(model, folder)]))

/** The name of the function of a folder. */
export const namedOf = ({ functions }: Pick<Model, 'functions'>, folder: string): string =>
  functions.find(one => one.folder === folder)?.name ?? ''
