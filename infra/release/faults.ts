import type { TreeState } from './tree.ts'

/** The facts that decide whether a release may be made. */
export interface ReleaseFacts extends TreeState {
  version: string
  /** content of CI's note; undefined: CI has noted nothing */
  green: string | undefined
  /** version of the running Node, and the version that package.json pins */
  node: { running: string; pinned: string }
}

/** The addresses that package.json publishes, for example in the package and in the provenance. */
export interface PublishedAddresses {
  homepage: string
  bugs: { url: string }
  repository: { url: string }
}

/** Addresses below this domain belong to nobody (RFC 2606). */
const PLACEHOLDER = /\.example(?:[/:]|$)/

/** Returns the members of package.json that still have a placeholder as address. */
export const findPlaceholders = ({ homepage, bugs, repository }: PublishedAddresses): string[] =>
  Object.entries({ homepage, bugs: bugs.url, repository: repository.url }).flatMap(([name, address]) =>
    PLACEHOLDER.test(address) ? [name] : [],
  )

/** Number of changed paths that a message names. */
const NAMED_PATHS = 5

function describeChanges(changes: readonly string[]): string {
  const rest = changes.length - NAMED_PATHS
  return changes.slice(0, NAMED_PATHS).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

/** Returns why no release can be made; empty if it can be made. */
export function findReleaseFaults({ changes, tags, tree, version, green, node }: ReleaseFacts): string[] {
  const tag = [version, `v${version}`].find(one => tags.includes(one))
  return [
    changes.length > 0 &&
      `the checkout differs from its commit: ${describeChanges(changes)}. Commit or remove these files`,
    tag !== undefined &&
      `version ${version} exists, because the tag ${tag} is set. Raise \`version\` in package.json`,
    green?.trim() !== tree &&
      `.ci/run has not succeeded for the files of this commit (tree ${tree}). Run npm run check first`,
    node.running !== node.pinned &&
      `the artefacts are made by Node ${node.pinned}, and this is Node ${node.running}. Run npm ci, then npm run release`,
  ].filter(fault => fault !== false)
}
