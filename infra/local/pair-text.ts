import { pathsOf } from '../../shared/api/endpoint.ts'
import { groups } from '../../shared/endpoints/all.ts'
import type { Host } from './host.ts'
import type { ClusterPair, Stand } from './pair.ts'

/** What is told of both clusters once they are joined. */
export const introducedPair = ({ east, west }: ClusterPair): string =>
  [
    ...introduced(east, 'the primary'),
    ...introduced(west, 'its secondary'),
    `Root token and recovery shares: those of east hold for both; the ones that west began with are gone.`,
    `  root token     ${east.root_token}`,
    `  shares         .local/${east.cluster}/cluster.json\n`,
  ].join('\n')

const introduced = (host: Host, role: string): string[] => [
  `${host.cluster}, ${role}`,
  `  base_url       ${host.base_url}`,
  `  link address   ${host.link_address}\n`,
]

/** Position, root and lag of both, as they stand. */
export const describedStands = (stands: { east: Stand; west: Stand }): string =>
  Object.entries(stands)
    .map(([name, { mode, state, position, root, lag }]) => {
      const behind = lag === undefined ? 'nothing heard yet' : `newest canary ${lag} ms old`
      return `${name}: ${mode}, ${state}\n  position  ${position}\n  root      ${root}\n  lag       ${behind}\n`
    })
    .join('\n')

const DR = '/sys/replication/dr'

/** Commands to copy, each with the path of the endpoint that it needs. */
const commands = ({ east, west }: ClusterPair): { what: string; path: string; text: string }[] => [
  {
    what: 'status of both',
    path: `${DR}/status`,
    text: `curl -s ${east.base_url}${DR}/status; curl -s ${west.base_url}${DR}/status`,
  },
  {
    what: 'planned switch: west takes over, nothing is lost',
    path: `${DR}/secondary/promote`,
    text: `curl -s -X POST ${west.base_url}${DR}/secondary/promote -d '{"dr_operation_token": "…"}'`,
  },
  {
    what: 'disaster: east is gone, and west takes over',
    path: `${DR}/secondary/promote`,
    text: `curl -s -X POST ${west.base_url}${DR}/secondary/promote -d '{"dr_operation_token": "…", "force": true}'`,
  },
]

const served = new Set(groups.flatMap(({ endpoints }) => endpoints.flatMap(pathsOf)))

/** The commands whose endpoints there are. */
export const commandsToCopy = (pair: ClusterPair): string =>
  commands(pair)
    .filter(({ path }) => served.has(path))
    .map(({ what, text }) => `${what}\n  ${text}\n`)
    .join('\n')
