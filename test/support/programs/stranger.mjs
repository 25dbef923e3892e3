// Tries to read files and to call addresses as another user of the machine, with only what any user can know
// or find out. Input and output are JSON.

import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'

/** @type {{ files: string[], asks: Record<string, { url: string, method?: string, headers?: Record<string, string>, body?: string }> }} */
const { files, asks } = JSON.parse(readFileSync(0, 'utf8'))

/** @param {string} file */
function reads(file) {
  try {
    readFileSync(file)
    return 'read'
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code
  }
}

/**
 * @param {{ url: string, method?: string, headers?: Record<string, string>, body?: string }} ask
 * @returns {Promise<{ status: number | string, text: string }>}
 */
const answered = ({ url, method = 'POST', headers = {}, body }) =>
  new Promise(resolve => {
    const asking = request(url, { method, headers }, async answer =>
      resolve({ status: answer.statusCode ?? 0, text: await text(answer) }),
    )
    asking.on('upgrade', (_, socket) => {
      socket.destroy()
      resolve({ status: 101, text: '' })
    })
    asking.on('error', error =>
      resolve({ status: String(/** @type {NodeJS.ErrnoException} */ (error).code), text: '' }),
    )
    asking.end(body)
  })

const answers = Object.fromEntries(
  await Promise.all(Object.entries(asks).map(async ([name, ask]) => [name, await answered(ask)])),
)
writeFileSync(
  1,
  JSON.stringify({ files: Object.fromEntries(files.map(file => [file, reads(file)])), answers }),
)
