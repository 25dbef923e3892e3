import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll } from 'vitest'
import { defineStacks, newApp } from '../../infra/app.ts'
import { buildFunctions } from '../../infra/build/functions.ts'
import { readSettings } from '../../infra/settings.ts'

export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: templates are what the tests look into
  Properties: any
  DeletionPolicy?: string
}

let bundles: ReturnType<typeof buildFunctions> | undefined

/** Where this file's bundles are: files of tests run side by side. */
export const bundlesOfTests = mkdtempSync(`${tmpdir()}/cloud-auth-bundles-`)
afterAll(() => rmSync(bundlesOfTests, { recursive: true, force: true }))

/** What esbuild put into each bundle; built once for all tests of a file. */
export const built = () => {
  bundles ??= buildFunctions(bundlesOfTests)
  return bundles
}

export interface Template {
  Resources: Record<string, Resource>
  Outputs?: Record<string, { Export?: { Name: string } }>
}

/** The templates of a cluster's stacks, by name of the stack. */
export async function stacksOf(
  settings: Record<string, unknown> = { stage: 'test' },
): Promise<Map<string, Template>> {
  await built()
  const directory = mkdtempSync(`${tmpdir()}/cloud-auth-synth-`)
  const app = newApp(directory)
  defineStacks(app, readSettings(settings), bundlesOfTests)
  const templates = app.synth().stacks.map(stack => {
    const text = readFileSync(`${directory}/${stack.templateFile}`, 'utf8')
    return [stack.stackName, JSON.parse(text) as Template] as const
  })
  return new Map(templates)
}

/** All resources of a cluster's stacks, by logical id. */
export const resourcesOf = async (settings?: Record<string, unknown>): Promise<Map<string, Resource>> =>
  new Map([...(await stacksOf(settings)).values()].flatMap(({ Resources }) => Object.entries(Resources)))

export const ofType = (resources: ReadonlyMap<string, Resource>, type: string): [string, Resource][] =>
  [...resources].filter(([, resource]) => resource.Type === type)
