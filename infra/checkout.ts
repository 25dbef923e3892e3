import { readdirSync, readFileSync } from 'node:fs'

/** Path of the checkout, or of the package made from it, with a trailing slash. */
export const checkoutRoot = new URL('../', import.meta.url).pathname

/** Version of the service, from package.json. */
export const { version } = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as {
  version: string
}

/** Default directory of the bundles. */
export const bundlesDir = `${checkoutRoot}.build/functions`

/** Returns the folders of functions/. Each folder is one Lambda function. */
export const listFunctionNames = (): string[] =>
  readdirSync(`${checkoutRoot}functions`, { withFileTypes: true })
    .flatMap(entry => (entry.isDirectory() ? [entry.name] : []))
    .sort()

/** Returns the context of cdk.json, whose feature flags change templates as settings do. */
export const readCdkContext = (): Record<string, unknown> => {
  const { context } = JSON.parse(readFileSync(`${checkoutRoot}cdk.json`, 'utf8')) as {
    context: Record<string, unknown>
  }
  return context
}
