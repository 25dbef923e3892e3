import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll } from 'vitest'
import { defineStacks, newApp } from '../../infra/app.ts'
import { functionNames } from '../../infra/build/functions.ts'
import { readAssembly } from '../../infra/local/assembly.ts'
import { readSettings } from '../../infra/settings.ts'

export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: templates are what the tests look into
  Properties: any
  DeletionPolicy?: string
}

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-synth-`)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Folders in the place of bundles: a template does not depend on what is in them, and making them takes long. */
function noBundles(): string {
  const bundles = `${directory}/bundles`
  for (const name of functionNames()) {
    mkdirSync(`${bundles}/${name}`, { recursive: true })
    writeFileSync(`${bundles}/${name}/index.mjs`, `// ${name}\n`)
  }
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
  const out = mkdtempSync(`${directory}/out-`)
  const app = newApp(out)
  defineStacks(app, readSettings(settings), noBundles())
  const templates = app.synth().stacks.map(stack => {
    const text = readFileSync(`${out}/${stack.templateFile}`, 'utf8')
    return [stack.stackName, JSON.parse(text) as Template] as const
  })
  return new Map(templates)
}

/** The variables of every function, and where its code is in the assembly, by the folder's name. */
export async function shippedWith(settings: Record<string, unknown>): Promise<{
  functions: Map<string, Record<string, string>>
  codeOf: (name: string) => string
}> {
  const out = mkdtempSync(`${directory}/out-`)
  const app = newApp(out)
  defineStacks(app, readSettings(settings), noBundles())
  app.synth()
  const place = { account: '111122223333', region: 'us-east-1' }
  const { functions } = readAssembly(out, place)
  return {
    functions: new Map(functions.map(one => [one.folder, one.environment])),
    codeOf: name => functions.find(one => one.folder === name)?.code ?? '',
  }
}

/** All resources of a cluster's stacks, by logical id. */
export const resourcesOf = async (settings?: Record<string, unknown>): Promise<Map<string, Resource>> =>
  new Map([...(await stacksOf(settings)).values()].flatMap(({ Resources }) => Object.entries(Resources)))

export const ofType = (resources: ReadonlyMap<string, Resource>, type: string): [string, Resource][] =>
  [...resources].filter(([, resource]) => resource.Type === type)
