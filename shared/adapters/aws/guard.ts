import type { EndpointUse } from '../../api/endpoint.ts'
import type { ItemStore, Ports } from '../../ports.ts'
import type { Change } from '../../storage/changes.ts'
import { tableGuards } from '../../storage/guards.ts'
import { itemKindSpec } from '../../storage/kinds.ts'

/** The use that a function must declare for each guarded port. The other ports are open to every function. */
const gates: Partial<Record<keyof Ports, EndpointUse>> = {
  instances: 'instances',
  principals: 'principals',
  organizations: 'organizations',
  callerIdentity: 'caller-identity',
  issuerKeys: 'issuer-keys',
  accessKeys: 'access-keys',
  background: 'background',
  puller: 'pull',
  workflows: 'workflow',
  events: 'events',
  keyFactory: 'key-factory',
  journal: 'journal',
  authorities: 'authorities',
  carryTo: 'peers',
}

/**
 * Returns the ports of a function with these uses. A port whose use was not declared throws when it is read,
 * because without the grant from the declaration it would fail only on AWS. Copying all ports throws too (by a rest
 * pattern, a spread, `Object.assign` or `Object.entries`), because a copy would read undeclared ports.
 * @param ports read only when one of the ports is needed
 */
export function guardPorts(ports: Ports, uses: readonly EndpointUse[]): Ports {
  const store = guardedStore(ports.store, uses)
  const open = (port: keyof Ports) => (port === 'store' ? store : ports[port])
  const behind = (port: keyof Ports): PropertyDescriptor => {
    const use = gates[port]
    const closed = use !== undefined && !uses.includes(use)
    return { enumerable: true, get: () => (closed ? undeclared(port, use) : open(port)) }
  }
  const names = Object.keys(ports) as (keyof Ports)[]
  return Object.defineProperties({} as Ports, {
    // The first member that a copy of all ports reads, so that every copy fails in the same way.
    [ALL_PORTS]: { enumerable: true, get: refuseCopy },
    ...Object.fromEntries(names.map(name => [name, behind(name)])),
  })
}

const guardedStore = (store: ItemStore, uses: readonly EndpointUse[]): ItemStore => ({
  ...store,
  commit: (changes, cluster, options) => {
    const missing = changes.map(usesForChange).find(any => !any.some(use => uses.includes(use)))
    return missing ? undeclared('store.commit', missing[0]) : store.commit(changes, cluster, options)
  },
  ...(uses.includes('scan') ? {} : { scan: () => undeclared('store.scan', 'scan') }),
  ...(uses.includes('sweep') ? {} : { due: () => undeclared('store.due', 'sweep') }),
})

/** Returns the uses that allow a change, as in the grants; the function needs one of these uses. */
export function usesForChange(change: Change): readonly EndpointUse[] {
  const { stores, deletes } = tableGuards[itemKindSpec(change.key.kind).guard ?? 'write']
  if (change.kind === 'count') return ['spend']
  return change.kind === 'put' ? stores : deletes
}

/** The member that only a copy of all ports reads. */
const ALL_PORTS = 'all ports at once'

function refuseCopy(): never {
  throw new Error(
    'ports cannot be copied with a rest pattern or a spread, which would also read undeclared ports: name each needed port',
  )
}

function undeclared(port: string, use: EndpointUse | undefined): never {
  throw new Error(
    use
      ? `${port} needs the use "${use}" in the endpoint table`
      : `${port}: no declared use of the endpoint allows this call`,
  )
}
