import type { Metafile } from 'esbuild'
import type { ArchiveEntry } from './archives.ts'

/** The members of package-lock.json that the SBOM needs. Keys are paths such as `node_modules/openpgp`. */
export interface LockFile {
  packages: Readonly<Record<string, { version?: string; license?: string; integrity?: string }>>
}

/** The released product. */
export interface ReleasedProduct {
  name: string
  version: string
  license: string
}

const PACKAGE = '(?:@[^/]+/)?[^/]+'
const INPUT = new RegExp(`^(.*node_modules/${PACKAGE})/`)
const COPIED = new RegExp(`/(node_modules/${PACKAGE})/package\\.json$`)

/**
 * Lists the packages of which at least one byte is in a bundle, and the packages that are shipped as files.
 * @param files shipped files
 * @returns sorted keys of package-lock.json
 */
export function listShippedPackages(
  metafiles: readonly Metafile[],
  files: readonly Pick<ArchiveEntry, 'name'>[],
): string[] {
  const bundled = metafiles
    .flatMap(({ outputs }) => Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs)))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => INPUT.exec(path)?.[1])
  const copied = files.map(({ name }) => COPIED.exec(name)?.[1])
  return [...new Set([...bundled, ...copied])].filter(key => key !== undefined).sort()
}

const isExpression = (license: string): boolean => /[\s()]/.test(license)
const describeLicense = (license: string): object[] => [
  isExpression(license) ? { expression: license } : { license: { id: license } },
]

/** Returns the package URL of an npm package. */
const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`

/** Returns the hash of an `integrity` text as CycloneDX writes it. The hash is that of the package's tarball. */
const describeHash = (integrity: string) => ({
  alg: 'SHA-512',
  content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
})

/** Describes a package. @throws Error if package-lock.json lacks a fact */
function describeComponent(key: string, { packages }: LockFile) {
  const { version, license, integrity } = packages[key] ?? {}
  if (version === undefined || license === undefined || !integrity?.startsWith('sha512-'))
    throw new Error(`package-lock.json has no version, license or SHA-512 hash of ${key}`)
  const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const purl = purlOf(name, version)
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    hashes: [describeHash(integrity)],
    licenses: describeLicense(license),
    purl,
  }
}

/** Builds the SBOM in the format CycloneDX 1.6, without a time or a serial number. @param keys of package-lock.json */
export function buildSbom(
  { name, version, license }: ReleasedProduct,
  keys: readonly string[],
  lock: LockFile,
): object {
  const ref = purlOf(name, version)
  // one version of a package can be installed at several places
  const components = [
    ...new Map(keys.map(key => describeComponent(key, lock)).map(one => [one.purl, one])).values(),
  ]
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'application',
        'bom-ref': ref,
        name,
        version,
        licenses: describeLicense(license),
        purl: ref,
      },
    },
    components,
    dependencies: [{ ref, dependsOn: components.map(one => one.purl) }],
    compositions: [{ aggregate: 'complete', assemblies: [ref] }],
  }
}
