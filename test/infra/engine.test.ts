import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { launchEngine } from '../../infra/local/engine-launch.ts'
import { endServer, freePort, listen } from '../../infra/local/loopback.ts'

describe('the engine of a cluster', () => {
  const directory = mkdtempSync(`${tmpdir()}/cloud-auth-engine-`)
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const file = `${directory}/dynamodb.sqlite`

  test('is never another’s that answers on the port: where one was taken meanwhile, the next is tried', async () => {
    const other = createServer((_, response) => response.end('{}'))
    const ports = [Number(new URL(await listen(other)).port), await freePort()]
    const given = [...ports]
    const { url, pid, stop } = await launchEngine(directory, file, { portOf: async () => given.shift() ?? 0 })
    expect(Number(new URL(url).port)).toBe(ports[1])
    expect(pid).toBeGreaterThan(0)
    await stop()
    await endServer(other)
    expect(readdirSync(directory)).not.toContain('engine.json')
  })

  test('that does not start says why', async () => {
    const none = launchEngine(directory, `${directory}/none/dynamodb.sqlite`)
    await expect(none).rejects.toThrow(/^the engine does not start: .*\(code [1-9]\d*\)$/s)
    expect(readdirSync(directory)).not.toContain('engine.json')
  })
})
