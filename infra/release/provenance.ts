/** An artefact of a release, with the SHA-256 hash of its bytes. */
export interface ReleasedArtefact {
  name: string
  sha256: string
}

/** The sources of a release. */
export interface ReleaseSources {
  /** URL of the repository, from package.json */
  repository: string
  homepage: string
  version: string
  commit: string
  tree: string
  /** SHA-256 hash of package-lock.json */
  lockSha256: string
  /** version of Node that made the artefacts */
  node: string
}

/**
 * Builds an unsigned in-toto statement with SLSA provenance. The statement has no times, and names neither the machine
 * nor the user, so that everybody who makes the release again gets the same statement.
 */
export function buildProvenance(
  artefacts: readonly ReleasedArtefact[],
  { repository, homepage, version, commit, tree, lockSha256, node }: ReleaseSources,
): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: artefacts.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${homepage}/release/v1`,
        externalParameters: { command: 'npm run release', version },
        internalParameters: { node },
        resolvedDependencies: [
          { uri: repository, digest: { gitCommit: commit, gitTree: tree } },
          { name: 'package-lock.json', digest: { sha256: lockSha256 } },
        ],
      },
      runDetails: { builder: { id: `${homepage}/checkout` } },
    },
  }
}
