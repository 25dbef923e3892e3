import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../../infra/checkout.ts'
import { takeLock } from '../../../../../infra/local/os/lock.ts'

const TAKES = `
const { takeLock } = await import('${checkoutRoot}infra/local/os/lock.ts')
await takeLock(process.argv[1], 'host', holder => new Error('taken by ' + holder)).then(
  lock => { globalThis.kept = lock; console.log('has it') },
  error => { console.log(error.message); process.exit(3) },
)
setInterval(() => undefined, 60_000)`

/** Starts processes that lock a directory at the same time. @returns the output of each process */
const all = (directory: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', TAKES, '--', directory], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const [said] = await once(child.stdout, 'data')
      return { child, said: String(said).trim() }
    }),
  )

function directoryOfTest(): string {
  const directory = mkdtempSync(`${tmpdir()}/lock-`)
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

const take = (directory: string) => takeLock(directory, 'host', holder => new Error(`taken by ${holder}`))

const FORGETS = `
const { isDirectoryLockHeld, takeLock } = await import('${checkoutRoot}infra/local/os/lock.ts')
await takeLock(process.argv[1], 'host', () => new Error('taken'))
for (let count = 0; count < 3; count++) {
  await new Promise(setImmediate)
  gc()
}
console.log(isDirectoryLockHeld(process.argv[1], 'host'))`

describe('the lock of a directory', () => {
  test('the lock lasts as long as the process, even without a reference to the lock', async () => {
    const child = spawn(
      process.execPath,
      ['--expose-gc', '--input-type=module', '-e', FORGETS, '--', directoryOfTest()],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [said] = await once(child.stdout, 'data')
    expect(String(said).trim()).toBe('true')
  })

  test("only one of several processes gets the lock, the other processes get the holder's id, and the holder's end releases the lock", async () => {
    const directory = directoryOfTest()
    const tries = await all(directory, 3)
    const holders = tries.filter(({ said }) => said === 'has it')
    expect(holders).toHaveLength(1)
    const [{ child } = { child: undefined }] = holders
    for (const { said } of tries.filter(one => one.child !== child))
      expect(said).toBe(`taken by ${child?.pid}`)
    await expect(take(directory)).rejects.toThrow(`taken by ${child?.pid}`)

    const ended = once(child as NonNullable<typeof child>, 'exit')
    child?.kill('SIGKILL')
    await ended
    const lock = await take(directory)
    await expect(take(directory)).rejects.toThrow(`taken by ${process.pid}`)
    lock.close()
    ;(await take(directory)).close()
  })

  test('a lock is not attributed to a process that reuses the id of an earlier holder', async () => {
    const directory = directoryOfTest()
    const lock = await take(directory)
    // the parent of this process, which never held the lock, has the process ID in the holder's file
    writeFileSync(`${directory}/host.holder`, String(process.ppid))
    const second = take(directory).catch((error: Error) => error.message)
    writeFileSync(`${directory}/host.holder`, String(process.pid))
    expect(await second).toBe(`taken by ${process.pid}`)
    lock.close()
  })
})
