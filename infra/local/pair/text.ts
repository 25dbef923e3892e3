import type { PairMember, PairRoles } from './pair.ts'

/** Formats both clusters for people once one cluster follows the other. */
export const formatPairAddresses = ({ primary, secondary }: PairRoles): string =>
  [
    introduced(primary, 'the primary'),
    introduced(secondary, 'its secondary'),
    `Root token and recovery shares are valid on both clusters; each cluster.json has them.`,
    `  root token     ${primary.root_token}\n`,
  ].join('\n')

const introduced = (
  { cluster, base_url, link_address, pid, fileFolder }: PairMember,
  role: string,
): string => `${cluster}, ${role}
  base_url       ${base_url}
  console        ${new URL('/ui/', base_url)}
  link address   ${link_address}
  process        ${pid}
  tools read     ${fileFolder}/cluster.json
`

const DR = '/sys/replication/dr'

/** Formats shell commands that the user can copy. */
export function formatPairCommands({ primary, secondary }: PairRoles): string {
  const promote = `curl -s -X POST ${secondary.base_url}${DR}/secondary/promote -d`
  return `status of both
  curl -s ${primary.base_url}${DR}/status; curl -s ${secondary.base_url}${DR}/status

planned switch: ${secondary.cluster} takes over, nothing is lost
  ${promote} '{"dr_operation_token": "…"}'

disaster: ${primary.cluster} is gone, and ${secondary.cluster} takes over
  kill -9 ${primary.pid}
  ${promote} '{"dr_operation_token": "…", "force": true}'
`
}
