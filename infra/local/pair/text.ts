import { pathsOf } from '../../../shared/api/endpoint.ts'
import { groups } from '../../../shared/endpoints/all.ts'
import type { Joined, PairMember } from './pair.ts'

/** What is told of both clusters once one follows the other. */
export const introducedPair = ({ primary, secondary }: Joined): string =>
  [
    ...introduced(primary, 'the primary'),
    ...introduced(secondary, 'its secondary'),
    `Root token and recovery shares of the set hold for both; each cluster.json has them.`,
    `  root token     ${primary.root_token}\n`,
  ].join('\n')

const introduced = (
  { cluster, base_url, link_address, pid, fileFolder }: PairMember,
  role: string,
): string[] => [
  `${cluster}, ${role}`,
  `  base_url       ${base_url}`,
  `  console        ${new URL('/ui/', base_url)}`,
  `  link address   ${link_address}`,
  `  process        ${pid}`,
  `  tools read     ${fileFolder}/cluster.json\n`,
]

const DR = '/sys/replication/dr'

/** Commands to copy, each with the path of the endpoint that it needs. */
const commands = ({ primary, secondary }: Joined): { what: string; path: string; text: string }[] => [
  {
    what: 'status of both',
    path: `${DR}/status`,
    text: `curl -s ${primary.base_url}${DR}/status; curl -s ${secondary.base_url}${DR}/status`,
  },
  {
    what: `planned switch: ${secondary.cluster} takes over, nothing is lost`,
    path: `${DR}/secondary/promote`,
    text: `curl -s -X POST ${secondary.base_url}${DR}/secondary/promote -d '{"dr_operation_token": "…"}'`,
  },
  {
    what: `disaster: ${primary.cluster} is gone, and ${secondary.cluster} takes over`,
    path: `${DR}/secondary/promote`,
    text: [
      `kill -9 ${primary.pid}`,
      `curl -s -X POST ${secondary.base_url}${DR}/secondary/promote -d '{"dr_operation_token": "…", "force": true}'`,
    ].join('\n  '),
  },
]

const served = new Set(groups.flatMap(({ endpoints }) => endpoints.flatMap(pathsOf)))

/** The commands whose endpoints there are. */
export const commandsToCopy = (joined: Joined): string =>
  commands(joined)
    .filter(({ path }) => served.has(path))
    .map(({ what, text }) => `${what}\n  ${text}\n`)
    .join('\n')
