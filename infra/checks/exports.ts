import { deployments } from './deployments.ts'

/** Names of exports, by front and stack. */
export type Exports = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

/** The list of all exports that there have been, from the root of the checkout. */
export const exportsFile = 'infra/checks/exports.json'

/** Settings by which exports are listed: all have one stage, so that names differ by front alone. */
export const exportedDeployments: Readonly<Record<string, Record<string, unknown>>> = Object.fromEntries(
  Object.entries(deployments).map(([name, settings]) => [
    name,
    { ...settings, stage: 'test', assumableRoleArns: ['arn:aws:iam::111122223333:role/cloud-auth-*'] },
  ]),
)

interface Template {
  Outputs?: Readonly<Record<string, { Export?: { Name: string } }>>
}

/** The names under which a stack exports something. */
export const exportsIn = ({ Outputs: outputs = {} }: Template): string[] =>
  Object.values(outputs)
    .flatMap(one => one.Export?.Name ?? [])
    .sort()

/** The list with the exports of a stack added. */
export const withExports = (
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

/** Listed exports that a stack lacks, and exports that the list lacks. */
export function exportFaults(listed: readonly string[], exported: readonly string[]): string[] {
  const missing = listed.filter(name => !exported.includes(name))
  const unlisted = exported.filter(name => !listed.includes(name))
  return [
    ...missing.map(
      name =>
        `${name} is no longer exported: a deployment whose stacks import it cannot be updated. Export it by hand`,
    ),
    ...unlisted.map(name => `${name} is not in ${exportsFile}: run npm run exports`),
  ]
}
