import { readdirSync, readFileSync } from 'node:fs'

/** Path of the checkout, or of the package made from it, with a trailing slash. */
export const root = new URL('../', import.meta.url).pathname

/** Version of the service, from package.json. */
export const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }

/** Default directory of the bundles. */
export const bundlesDir = `${root}.build/functions`

/** Returns the folders of functions/. Each is one Lambda function. */
export const functionNames = (): string[] =>
  readdirSync(`${root}functions`, { withFileTypes: true })
    .flatMap(entry => (entry.isDirectory() ? [entry.name] : []))
    .sort()

/** Returns the context of cdk.json: its feature flags change templates as settings do. */
export const readContext = (): Record<string, unknown> => {
  const { context } = JSON.parse(readFileSync(`${root}cdk.json`, 'utf8')) as {
    context: Record<string, unknown>
  }
  return context
}
