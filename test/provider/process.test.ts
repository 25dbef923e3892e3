import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { connectToImitatedAws, startImitatedAwsProcess } from '../../infra/local/host/aws-process.ts'
import { listenOnLoopback } from '../../infra/local/os/loopback.ts'
import { readProviderNote } from '../../infra/local/provider/note.ts'
import { startProvider } from '../../infra/local/provider/provider.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { isRunning } from '../support/programs/npm-start.ts'

// Tests the imitated AWS as hosts share it that may be killed. The imitated AWS has no owner, and runs as
// long as one host needs it.

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-aws-`)
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const wanted = { directory, region: 'us-east-1' }
const pid = (): number => readProviderNote(directory)?.pid ?? 0
const ACCOUNT = '111122223333'

describe('the process of an imitated AWS', () => {
  test('is shared by concurrent users, and ends with the last user', async () => {
    const [one, other] = await Promise.all([startImitatedAwsProcess(wanted), startImitatedAwsProcess(wanted)])
    expect(one.url).toBe(other.url)
    const byUrl = await connectToImitatedAws({ url: one.url, control_token: one.controlToken })
    await one.control.putRole({ account: ACCOUNT, name: 'kept' })
    await one.close()
    await other.close()
    expect(isRunning(pid()), 'one still needs it').toBe(true)
    await byUrl.close()
    expect(isRunning(pid())).toBe(false)
  })

  test('has the same address and state after the process was killed and restarted', async () => {
    const { url } = await startImitatedAwsProcess(wanted)
    process.kill(pid(), 'SIGKILL')
    await eventually(() => !isRunning(pid()) || undefined, 10)
    const again = await startImitatedAwsProcess(wanted)
    expect(again.url).toBe(url)
    const session = await again.control.session({ account: ACCOUNT, role: 'kept', session: 'one' })
    expect(session.accessKeyId).toMatch(/^ASIA/)
    await expect(startImitatedAwsProcess({ ...wanted, port: 1 })).rejects.toThrow(
      'runs already at http://127.0.0.1:',
    )
    await again.close()
  })

  test('is started without a call to an unknown program at its former port, when no process holds the directory', async () => {
    let calls = 0
    const silent = createServer(() => {
      calls += 1
    })
    const noted = { ...readProviderNote(directory), url: await listenOnLoopback(silent) }
    writeFileSync(`${directory}/aws.json`, JSON.stringify(noted))
    const own = await startImitatedAwsProcess(wanted)
    expect(own.url).not.toBe(noted.url)
    expect(calls).toBe(0)
    await own.close()
    silent.close()
  })

  const strangers = {
    'that counts no leases': () => startProvider(),
    'of another directory': () =>
      startImitatedAwsProcess({ directory: `${directory}/another`, region: 'us-east-1' }),
  }
  test.each(Object.entries(strangers))(
    'is not confused with another provider %s at its former port',
    async (_, start) => {
      // starts at a free port, because another process may have taken the noted port
      const stranger = await start()
      const noted = { ...readProviderNote(directory), url: stranger.url }
      writeFileSync(`${directory}/aws.json`, JSON.stringify(noted))
      const own = await startImitatedAwsProcess(wanted)
      expect(own.url).not.toBe(stranger.url)
      const given = await connectToImitatedAws({ url: stranger.url, control_token: stranger.controlToken })
      expect(given.url).toBe(stranger.url)
      await Promise.all([own.close(), given.close(), stranger.close()])
      expect(isRunning(pid())).toBe(false)
    },
  )
})
