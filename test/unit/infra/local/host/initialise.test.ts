import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { initialiseCluster } from '../../../../../infra/local/host/initialise.ts'
import { checkStoredFormat } from '../../../../../shared/storage/format.ts'

/** Returns the functions' answer if the cluster record has an unknown format. */
function refusalOf(format: unknown): string {
  try {
    checkStoredFormat('cluster record', format)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test.each([undefined, 0, 2])(
  'a host that has the keys of a cluster does not start on the cluster in format %s',
  async format => {
    const server = createServer((_, answer) =>
      answer.writeHead(503).end(JSON.stringify({ errors: [refusalOf(format)] })),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const directory = mkdtempSync(`${tmpdir()}/host-`)
    const keys = JSON.stringify({ root_token: 'root', recovery_keys: ['a share'] })
    writeFileSync(`${directory}/keys.json`, keys)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(initialiseCluster(url, directory)).rejects.toThrow(
      /^the cluster cannot be started: .*the cluster record has (no format|format \d)/,
    )
    expect(readFileSync(`${directory}/keys.json`, 'utf8')).toBe(keys)
    server.close()
  },
)
