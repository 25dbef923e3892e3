import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isEngineUsingDatabase, stopStaleEngine } from '../../../../../infra/local/engine/process.ts'

const WAITS = `console.log('here'); setInterval(() => undefined, 60_000)`

/** Starts a process whose command line names a database, like an engine's command line. */
async function engineOn(database: string) {
  const child = spawn(process.execPath, ['-e', WAITS, '--', '--db-path', database], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return { child, pid: child.pid ?? 0 }
}

function directoryOfTest(): string {
  const directory = mkdtempSync(`${tmpdir()}/engine-process-`)
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

describe('the process of a local DynamoDB engine', () => {
  test("the engine's process is found by its database", async () => {
    const database = `${directoryOfTest()}/dynamodb.sqlite`
    const { pid, child } = await engineOn(database)
    expect(isEngineUsingDatabase(pid, database)).toBe(true)
    expect(isEngineUsingDatabase(pid, `${database}.other`)).toBe(false)
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    expect(isEngineUsingDatabase(pid, database)).toBe(false)
  })

  test("an engine that a killed host left running is ended, and other processes in the host's note are not", async () => {
    const directory = directoryOfTest()
    const [stale, other] = await Promise.all([engineOn(`${directory}/one`), engineOn(`${directory}/other`)])
    const ended = once(stale.child, 'exit')
    writeFileSync(`${directory}/engine.json`, JSON.stringify({ pid: other.pid, host: 1 }))
    await stopStaleEngine(directory, `${directory}/one`)
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(isEngineUsingDatabase(other.pid, `${directory}/other`)).toBe(true)
    expect(existsSync(`${directory}/engine.json`)).toBe(false)
  })
})
