import { readFileSync } from 'node:fs'
import {
  type App,
  CfnParameter,
  CliCredentialsStackSynthesizer,
  Fn,
  type IReusableStackSynthesizer,
} from 'aws-cdk-lib'
import type { CloudAssembly } from 'aws-cdk-lib/cx-api'
import { createCdkApp } from '../app.ts'
import { readSettings } from '../settings.ts'
import { type ClusterStacks, defineStacks } from '../stacks/cluster.ts'
import { type ArchiveEntry, packZip, readEntries } from './archives.ts'

/** Stage of the templates. Names of stacks, exports and functions contain the stage. */
export const TEMPLATES_STAGE = 'prod'

interface TemplateParameter {
  /** stacks that have the parameter */
  of: readonly (keyof ClusterStacks)[]
  description: string
  /** absent: the parameter is required */
  default?: string
  allowedPattern?: string
  maxLength?: number
  noEcho?: boolean
}

/** Parameters of the templates. A stack has only the parameters that its resources use. */
export const templateParameters = {
  AssetsBucket: {
    of: ['api', 'workers'],
    description: 'bucket with the assets, in the region of the stacks',
    allowedPattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
  },
  AssetsPrefix: {
    of: ['api', 'workers'],
    description: 'prefix of the keys of the assets, empty or with a slash at its end',
    default: '',
    allowedPattern: '^$|^[A-Za-z0-9._/-]{1,255}/$',
  },
  ClusterName: {
    of: ['data', 'api', 'workers'],
    description:
      'name of the cluster in health and status; sys/init stores the name, so a later change does not rename the cluster',
    default: `cloud-auth-${TEMPLATES_STAGE}`,
    allowedPattern: '^[A-Za-z0-9_.-]{1,64}$',
  },
  License: {
    of: ['api', 'workers'],
    description: 'licence for DR replication, a JWT; empty without DR replication',
    default: '',
    maxLength: 1536,
    noEcho: true,
  },
  LicensePublicKey: {
    of: ['api', 'workers'],
    description: 'public key of the signer of the licence, Ed25519, base64 DER',
    default: '',
    maxLength: 256,
  },
} as const satisfies Readonly<Record<string, TemplateParameter>>

type ParameterName = keyof typeof templateParameters

const ref = (name: ParameterName): string => Fn.ref(name)

/** Returns a text for Fn::Sub that stands for a parameter's value. */
const placeholder = (name: ParameterName): string => `\${${name}}`

/**
 * Creates an app whose templates need no CDK: CloudFormation reads the assets from a bucket that parameters name. All
 * other settings have their defaults.
 * @param bundles directory of the functions' bundles
 */
export function createTemplatesApp(bundles: string, outdir: string): App {
  const app = createCdkApp(outdir, {
    analyticsReporting: false,
    treeMetadata: false,
    stackTraces: false,
    // this synthesizer needs neither the roles nor the version of a bootstrap stack
    defaultStackSynthesizer: new CliCredentialsStackSynthesizer({
      fileAssetsBucketName: placeholder('AssetsBucket'),
      bucketPrefix: placeholder('AssetsPrefix'),
    }) as IReusableStackSynthesizer,
  })
  const settings = {
    ...readSettings({ stage: TEMPLATES_STAGE }),
    clusterName: ref('ClusterName'),
    license: ref('License'),
    licensePublicKey: ref('LicensePublicKey'),
  }
  const stacks = defineStacks(app, { settings, bundles })
  for (const [name, { of, ...props }] of Object.entries<TemplateParameter>(templateParameters))
    for (const part of of) new CfnParameter(stacks[part], name, { type: 'String', ...props })
  return app
}

/** The members of a CDK asset manifest that name the assets. */
interface AssetManifest {
  files: Record<string, { source: { path: string; packaging: string } }>
}

/** Returns the files of the templates' archive: three templates, and one ZIP file for each function. */
export function readTemplateEntries({ directory, stacks, artifacts }: CloudAssembly): ArchiveEntry[] {
  const templates = stacks.map(({ stackName, templateFullPath }) => ({
    name: `${stackName.split('-').at(-1)}.template.json`,
    bytes: readFileSync(templateFullPath),
  }))
  const manifests = artifacts
    .filter(({ manifest }) => manifest.type === 'cdk:asset-manifest')
    .map(({ manifest }) => {
      const { file } = manifest.properties as { file: string }
      return JSON.parse(readFileSync(`${directory}/${file}`, 'utf8')) as AssetManifest
    })
  // stacks that share a synthesizer list each other's assets, and a template is an asset that is packaged as a file
  const assets = Object.entries(
    Object.assign({}, ...manifests.map(one => one.files)) as AssetManifest['files'],
  )
    .filter(([, { source }]) => source.packaging === 'zip')
    .map(([hash, { source }]) => ({
      name: `assets/${hash}.zip`,
      bytes: packZip(readEntries(`${directory}/${source.path}`)),
    }))
  return [...templates, ...assets]
}
