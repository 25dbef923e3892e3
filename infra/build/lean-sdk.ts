import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Plugin } from 'esbuild'

/** The replacement of an SDK module in bundles. */
interface Replaced {
  /** matches the end of the module's path */
  path: RegExp
  contents: (path: string) => string
}

const CLIENT = `@aws-sdk/client-[^/]+/dist-es`

/**
 * Replaces an SDK client's defaults for Node.js. `buildClientSettings` passes all values, so the replacement
 * leaves out the readers of shared configuration files, which Lambda does not have, the SDK's HTTP client and
 * the long user agent.
 */
const RUNTIME = `import { getRuntimeConfig as shared } from './runtimeConfig.shared'
  export const getRuntimeConfig = settings =>
    ({ ...shared(settings), runtime: 'node', eventStreamSerdeProvider: () => undefined, ...settings })`

/**
 * Replaces the SDK's configuration loader by a function that reads settings from environment variables only.
 */
const VARIABLES = `export const loadConfig = ({ environmentVariableSelector, default: other }) => async () =>
  environmentVariableSelector(process.env) ?? (typeof other === 'function' ? other() : other)`

const CONSTANT = /^const (\w+) = ("[^"\n]*");$/gm

/**
 * Rewrites the schemas of a service with plain names instead of computed keys, because esbuild keeps every schema
 * with a computed key.
 */
function withoutComputedKeys(path: string): string {
  const text = readFileSync(path, 'utf8')
  const constants = new Map([...text.matchAll(CONSTANT)].map(([, name, value]) => [name, value]))
  const plain = text.replace(/\[(\w+)\]:/g, (whole, name) =>
    constants.has(name) ? `${constants.get(name)}:` : whole,
  )
  return path.includes('/client-ec2/') ? keepReadMembers(plain, constants) : plain
}

/** The members of EC2's instances that `describe-instances.ts` reads, of sixty. */
const READ_MEMBERS = ['IamInstanceProfile', 'ImageId', 'InstanceId', 'State', 'SubnetId', 'Tags', 'VpcId']

/** The schema of an instance: its head, the constants of its members' names, and their types. */
const INSTANCE = /(var Instance\$ = \[3, n0, \w+,\s+0,\s+)\[([^\]]*)\],\s+\[([^;]*)\]\s+\];/
const TYPE = /\d+|\[[^{[]+\{[^}]*\}\]/g

/**
 * Leaves the members that nobody reads out of the schema of an instance. The client would parse all members of every
 * answer, and load their schemas.
 * @throws Error when the schema has another form than expected
 */
function keepReadMembers(
  text: string,
  constants: ReadonlyMap<string | undefined, string | undefined>,
): string {
  const [, head, names = '', types = ''] = INSTANCE.exec(text) ?? []
  const all = types.match(TYPE) ?? []
  const kept = names
    .split(', ')
    .map((constant, index) => ({ constant, type: all[index] }))
    .filter(({ constant }) => READ_MEMBERS.some(name => constants.get(constant) === `"${name}"`))
  if (kept.length !== READ_MEMBERS.length || all.length !== names.split(', ').length)
    throw new Error('the schema of an instance in @aws-sdk/client-ec2 has another form than expected')
  const [keptNames, keptTypes] = [kept.map(one => one.constant), kept.map(one => one.type)]
  return text.replace(INSTANCE, () => `${head}[${keptNames}], [${keptTypes}]];`)
}

const replaced: readonly Replaced[] = [
  { path: new RegExp(`${CLIENT}/runtimeConfig\\.js$`), contents: () => RUNTIME },
  { path: new RegExp(`${CLIENT}/schemas/schemas_\\d+\\.js$`), contents: withoutComputedKeys },
  { path: /@smithy\/core\/.*\/node-config-provider\/configLoader\.js$/, contents: () => VARIABLES },
]

/** Modules that our clients never run: endpoint discovery, browser user agents and, loaded lazily, event streams. */
const UNUSED = /^(@aws-sdk\/endpoint-cache|bowser)$/
const UNUSED_LATER = /^@smithy\/core\/event-streams$/

/**
 * Leaves out of the SDK the parts that our clients do not use: half of its size, and most of its load time.
 */
export const leanSdkPlugin: Plugin = {
  name: 'lean-sdk',
  setup({ onResolve, onLoad }) {
    for (const { path: filter, contents } of replaced)
      onLoad({ filter }, ({ path }) => ({
        contents: contents(path),
        loader: 'js',
        resolveDir: dirname(path),
      }))
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }))
    onResolve({ filter: UNUSED_LATER }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, namespace: 'unused' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'unused' }, () => ({
      contents: 'export class EndpointCache {}',
      loader: 'js',
    }))
  },
}
