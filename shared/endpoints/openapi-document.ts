import { readFile } from 'node:fs/promises'

/** Loads the OpenAPI document of docs/. A test compares it with the endpoint table. Bundles contain its text. */
export const buildOpenApiDocument = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
