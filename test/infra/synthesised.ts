import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import type { AppProps } from 'aws-cdk-lib'
import { createCdkApp, unvalidatedAppProps } from '../../infra/app.ts'
import { makeTemporaryDirectory } from '../../infra/local/os/temporary.ts'
import { readAssembly } from '../../infra/local/template/assembly.ts'
import { makeEmptyBundles } from '../../infra/local/template/synth.ts'
import { readSettings } from '../../infra/settings.ts'
import { defineStacks } from '../../infra/stacks/cluster.ts'

export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: templates are what the tests look into
  Properties: any
  DeletionPolicy?: string
  DependsOn?: string[]
}

/** App settings for templates that a test only reads: without validation, construct tree and stack traces. */
const templatesAlone: AppProps = { ...unvalidatedAppProps, treeMetadata: false, stackTraces: false }

/** Synthesises templates into a temporary folder, which is deleted once the test has read the templates. */
function synthesised<T>(
  settings: Record<string, unknown>,
  read: (stacks: string[], out: string) => T,
  props: AppProps = templatesAlone,
): T {
  const directory = makeTemporaryDirectory()
  try {
    const app = createCdkApp(`${directory}/out`, props)
    const bundles = `${directory}/bundles`
    makeEmptyBundles(bundles)
    defineStacks(app, { settings: readSettings(settings), bundles })
    const stacks = app.synth().stacks.map(stack => stack.stackName)
    return read(stacks, `${directory}/out`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Synthesises templates as `cdk deploy` does. @throws when a template violates a rule of the CDK */
export const validated = (settings: Record<string, unknown>): string[] =>
  synthesised(settings, stacks => stacks, {})

export interface Template {
  Resources: Record<string, Resource>
  Outputs?: Record<string, { Export?: { Name: string } }>
}

/** Cache of templates as texts, by settings and stack, because a synthesis takes a second. */
const texts = new Map<string, Map<string, string>>()

/** Settings with which every function is deployed. */
export const allFunctions = { stage: 'test', instanceEvents: {} }

/** Returns the templates of a cluster by stack name. Each call returns a fresh copy. */
export function stacksOf(settings: Record<string, unknown> = allFunctions): Map<string, Template> {
  const name = JSON.stringify(settings)
  const made = texts.get(name) ?? synthesised(settings, textsOf)
  texts.set(name, made)
  return new Map([...made].map(([stack, text]) => [stack, JSON.parse(text) as Template]))
}

const textsOf = (stacks: string[], out: string): Map<string, string> =>
  new Map(stacks.map(stack => [stack, readFileSync(`${out}/${stack}.template.json`, 'utf8')]))

/** A function's part of a deployment. */
interface Shipped {
  variables: Record<string, string>
  /** hash of the shipped files */
  asset: string
  /** contents of the files, by name */
  files: Record<string, string>
}

/** Returns every function of a deployment, by folder. */
export const shippedWith = (settings: Record<string, unknown>): Map<string, Shipped> =>
  synthesised(settings, (_, out) => {
    const { functions } = readAssembly(out, { account: '111122223333', region: 'us-east-1' })
    return new Map(functions.map(one => [one.folder, shipped(one.environment, one.code)]))
  })

const shipped = (variables: Record<string, string>, code: string): Shipped => ({
  variables,
  asset: basename(code),
  files: Object.fromEntries(readdirSync(code).map(name => [name, readFileSync(`${code}/${name}`, 'utf8')])),
})

/** Returns all resources of a cluster's stacks, by logical ID. */
export const resourcesOf = (settings?: Record<string, unknown>): Map<string, Resource> =>
  new Map([...stacksOf(settings).values()].flatMap(({ Resources }) => Object.entries(Resources)))

export const ofType = (resources: ReadonlyMap<string, Resource>, type: string): [string, Resource][] =>
  [...resources].filter(([, resource]) => resource.Type === type)
