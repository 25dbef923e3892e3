import { readFile } from 'node:fs/promises'

/** The interface as an OpenAPI document: the page of docs/, which a test compares with the table. Bundles hold its text. */
export const openApiDocument = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
