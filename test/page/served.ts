import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildConsolePage } from '../../infra/build/functions.ts'
import { serveWebFunction } from '../../shared/front/web-function.ts'
import { createConsoleHandler } from '../../shared/http/console.ts'

/** Serves the console page with its real headers, and no API. Tests answer the calls of the page themselves. */
export async function servePage(): Promise<{ url: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'console-page-'))
  await buildConsolePage(folder)
  const handler = createConsoleHandler(
    { isServed: true, peer: '', folder: pathToFileURL(`${folder}/`) },
    async () => ({ statusCode: 404, headers: {}, body: '', isBase64Encoded: false }),
  )
  const served = await serveWebFunction(handler, { host: '127.0.0.1', port: 0 })
  return {
    url: `${served.url}/ui/`,
    close: async () => {
      await served.close()
      await rm(folder, { recursive: true })
    },
  }
}
