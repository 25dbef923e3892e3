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

/** All resources of a cluster's stacks, by logical id. */
export async function resourcesOf(
  settings: Record<string, unknown> = { stage: 'test' },
): Promise<Map<string, Resource>> {
  await built()
  const directory = mkdtempSync(`${tmpdir()}/cloud-auth-synth-`)
  const app = newApp(directory)
  defineStacks(app, readSettings(settings), bundlesOfTests)
  const assembly = app.synth()
  return new Map(
    assembly.stacks.flatMap(stack => {
      const { Resources } = JSON.parse(readFileSync(`${directory}/${stack.templateFile}`, 'utf8')) as {
        Resources: Record<string, Resource>
      }
      return Object.entries(Resources)
    }),
  )
}

export const ofType = (resources: ReadonlyMap<string, Resource>, type: string): [string, Resource][] =>
  [...resources].filter(([, resource]) => resource.Type === type)
