import { deployments } from './deployments.ts'

/** Names of CloudFormation exports, by front end and stack. */
export type Exports = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** File with all CloudFormation exports of earlier and present versions, relative to the checkout. */
export const exportsFile = 'test/support/checks/exports.json'

/**
 * Settings of the deployments whose CloudFormation exports are listed. All deployments have the same stage,
 * so that names differ by front end only.
 */
export const exportedDeployments: Readonly<Record<string, Record<string, unknown>>> = Object.fromEntries(
  Object.entries(deployments).map(([name, settings]) => [
    name,
    { ...settings, stage: 'test', assumableRoleArns: ['arn:aws:iam::111122223333:role/cloud-auth-*'] },
  ]),
)

interface Template {
  Outputs?: Readonly<Record<string, { Export?: { Name: string } }>>
}

/** Returns the names of a stack's exports. */
export const listExports = ({ Outputs: outputs = {} }: Template): string[] =>
  Object.values(outputs)
    .flatMap(one => one.Export?.Name ?? [])
    .sort()

/** Adds the CloudFormation exports of a stack to the list of known exports. */
export const addExports = (
  all: Exports,
  front: string,
  stack: string,
  names: readonly string[],
): Exports => ({
  ...all,
  [front]: {
    ...all[front],
    [stack]: [...new Set([...(all[front]?.[stack] ?? []), ...names])].sort(),
  },
})

/** Returns the listed exports that a stack lacks, and the exports of the stack that the list lacks. */
export function findExportFaults(listed: readonly string[], exported: readonly string[]): string[] {
  const missing = listed.filter(name => !exported.includes(name))
  const unlisted = exported.filter(name => !listed.includes(name))
  return [
    ...missing.map(
      name =>
        `${name} is no longer exported, so a deployment whose stacks import it cannot be updated. Export it explicitly`,
    ),
    ...unlisted.map(name => `${name} is missing in ${exportsFile}. Run npm run exports`),
  ]
}
