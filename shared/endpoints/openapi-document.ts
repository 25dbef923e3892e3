import { readFile } from 'node:fs/promises'

/**
 * Loads the OpenAPI document of docs/. A test compares it with the endpoint table. Bundles contain the text of the
 * OpenAPI document.
 */
export const buildOpenApiDocument = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
