import { readdirSync, readFileSync } from 'node:fs'

/** The checkout, or the package made of it, with trailing slash. */
export const root = new URL('../', import.meta.url).pathname

/** Version of the service, as package.json has it. */
export const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }

/** Where bundles go unless told otherwise. */
export const bundlesDir = `${root}.build/functions`

/** Folders of functions/, each a Lambda. */
export const functionNames = (): string[] =>
  readdirSync(`${root}functions`, { withFileTypes: true })
    .flatMap(entry => (entry.isDirectory() ? [entry.name] : []))
    .sort()

/** The context of cdk.json: what decides about templates beside the settings. */
export const readContext = (): Record<string, unknown> => {
  const { context } = JSON.parse(readFileSync(`${root}cdk.json`, 'utf8')) as {
    context: Record<string, unknown>
  }
  return context
}
