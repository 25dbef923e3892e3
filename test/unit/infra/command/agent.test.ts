import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAgent } from '../../../../infra/command/agent/agent.ts'
import { readSignal } from '../../../../infra/command/agent/child.ts'
import { acquireAgentLock } from '../../../../infra/command/agent/lock.ts'
import { runAgent } from '../../../../infra/command/agent/run.ts'
import {
  checkTokenPlace,
  readTokenPlace,
  writeTokenFile,
} from '../../../../infra/command/agent/token-file.ts'
import { type ParsedCommand, parseCommandLine } from '../../../../infra/command/options.ts'
import { type ImitatedCluster, imitateCluster } from '../../../support/programs/imitated-cluster.ts'
import { webServer } from '../../../support/service/server.ts'

const root = realpathSync(mkdtempSync(`${tmpdir()}/agent-`))
beforeAll(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'x')
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true })
})
let folders = 0
const folder = () => {
  const path = `${root}/${folders++}`
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** Runs an agent in this process until the test ends. */
async function agentOf(...clusters: ImitatedCluster[]) {
  const place = readTokenPlace(`${folder()}/token`)
  const lock = acquireAgentLock(place)
  const said: string[] = []
  const given: string[] = []
  const ending = new AbortController()
  const agent = createAgent({
    clusters: clusters.map(({ url }, index) => ({ name: `cluster-${index}`, base: `${url}/v1` })),
    login: { base: '', mount: 'cloud', method: 'iam', document: 'rsa2048' },
    environment: {},
    connection: { timeoutMs: 5000 },
    everyMs: 100,
    output: { place, lock },
    child: { giveToken: async token => void given.push(token), stop: async () => undefined },
    say: text => void said.push(text),
  })
  const running = agent.run(ending.signal)
  onTestFinished(() => ending.abort())
  const token = () => readFileSync(place.file, 'utf8')
  const stop = async () => {
    ending.abort()
    await running
  }
  return { agent, running, token, said, given, stop, place, lock }
}

const until = (probe: () => void) => vi.waitFor(probe, { timeout: 15_000, interval: 20 })
const pathsOf = ({ asked }: ImitatedCluster) => asked.map(([path]) => path)

describe('the agent', () => {
  test('asks for the health without a token, logs in, and writes the token for its owner only', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const { token, given, stop, place } = await agentOf(cluster)
    await until(() => expect(given).toHaveLength(1))
    expect(cluster.asked.slice(0, 2)).toEqual([
      ['sys/health', undefined],
      ['auth/cloud/login', undefined],
    ])
    expect(token()).toBe(given[0])
    expect(statSync(place.file).mode & 0o777).toBe(0o600)
    await stop()
    expect(token()).toBe(given[0])
  })

  test('renews, and logs in again when a renewal gives less than the login', async () => {
    const cluster = await imitateCluster(onTestFinished)
    Object.assign(cluster, { lease: 3, renewal: 3 })
    const { given } = await agentOf(cluster)
    await until(() => expect(pathsOf(cluster)).toContain('auth/token/renew-self'))
    expect(given).toHaveLength(1)
    cluster.renewal = 0.5
    await until(() => expect(given).toHaveLength(2))
    const renewal = cluster.asked.find(([path]) => path === 'auth/token/renew-self')
    expect(renewal).toEqual(['auth/token/renew-self', given[0]])
  })

  test('logs in again when a renewal is refused', async () => {
    const cluster = await imitateCluster(onTestFinished)
    Object.assign(cluster, { lease: 1, renewal: 0 })
    const { given, token, said } = await agentOf(cluster)
    await until(() => expect(given).toHaveLength(2))
    expect(token()).not.toBe(given[0])
    expect(cluster.tokens).toContain(token())
    expect(said.join('\n')).toMatch(/refuses the token \(403/)
    expect(said.join('\n')).not.toContain('hvs.')
  })

  test('keeps the old token while no cluster serves', async () => {
    const cluster = await imitateCluster(onTestFinished)
    Object.assign(cluster, { lease: 1 })
    const { given, token, said } = await agentOf(cluster)
    await until(() => expect(given).toHaveLength(1))
    cluster.health = 503
    await until(() => expect(said).toContain('No cluster serves: cluster-0: sys/health answers 503.'))
    expect(token()).toBe(given.at(-1))
    expect(cluster.asked.at(-1)).toEqual(['sys/health', undefined])
  })

  test('follows the cluster that has taken over, which knows the token', async () => {
    const east = await imitateCluster(onTestFinished)
    const west = await imitateCluster(onTestFinished, east)
    west.health = 472
    const { given, said } = await agentOf(east, west)
    await until(() => expect(given).toHaveLength(1))
    expect(west.asked[0]).toEqual(['sys/health', undefined])
    Object.assign(east, { health: 472 })
    west.health = 200
    await until(() => expect(said.join()).toContain('cluster-1 knows the token'))
    expect(given).toHaveLength(1)
    expect(west.asked.find(([path]) => path !== 'sys/health')).toEqual(['auth/token/lookup-self', given[0]])
    expect(west.asked).toContainEqual(['auth/token/lookup-self', given[0]])
  })

  test('logs in on the cluster that has taken over and lost the token', async () => {
    const [east, west] = [await imitateCluster(onTestFinished), await imitateCluster(onTestFinished)]
    west.health = 472
    const { given, token } = await agentOf(east, west)
    await until(() => expect(given).toHaveLength(1))
    Object.assign(east, { health: 0 })
    west.health = 200
    await until(() => expect(given).toHaveLength(2))
    expect(west.tokens).toContain(token())
  })

  test('ends when its first login is refused', async () => {
    const cluster = await imitateCluster(onTestFinished)
    cluster.loginStatus = 400
    const { running, place } = await agentOf(cluster)
    await expect(running).rejects.toMatchObject({
      exit: 'refused',
      message: expect.stringMatching(/400 refused/),
    })
    expect(readdirSync(place.folder)).toEqual(['.token.lock'])
  })

  test.each(['"long"', '-1', '1e999', 'null'])(
    'refuses a login whose lease_duration is %s, and writes nothing',
    async lease => {
      const { url } = await webServer(onTestFinished, (_, response) =>
        response.end(`{"auth":{"client_token":"hvs.x","lease_duration":${lease}}}`),
      )
      const { running, place } = await agentOf({ url } as ImitatedCluster)
      await expect(running).rejects.toMatchObject({
        exit: 'refused',
        message: expect.stringContaining('lease_duration'),
      })
      expect(readdirSync(place.folder)).toEqual(['.token.lock'])
    },
  )

  test('ends without writing when another agent has its lock', async () => {
    const cluster = await imitateCluster(onTestFinished)
    cluster.health = 503
    const { running, place } = await agentOf(cluster)
    rmSync(place.lock)
    symlinkSync('cloud-auth-agent:1:x:now', place.lock)
    cluster.health = 200
    await expect(running).rejects.toMatchObject({ exit: 'occupied' })
    expect(readdirSync(place.folder)).toEqual(['.token.lock'])
  })

  test('revokes its token and removes the file', async () => {
    const cluster = await imitateCluster(onTestFinished)
    const { agent, given, stop, place } = await agentOf(cluster)
    await until(() => expect(given).toHaveLength(1))
    await stop()
    await agent.revoke()
    expect([...cluster.tokens]).toEqual([])
    expect(readdirSync(place.folder)).toEqual(['.token.lock'])
  })
})

describe('the place of a token file', () => {
  const refused = (path: string) => {
    try {
      checkTokenPlace(readTokenPlace(path))
      return 'accepted'
    } catch (error) {
      return (error as Error).message
    }
  }
  const isRoot = process.getuid?.() === 0
  /** Returns a folder of another user. */
  const foreign = () => {
    if (!isRoot) return '/usr'
    const path = folder()
    chownSync(path, 12345, 12345)
    return path
  }
  const made = (mode: number) => {
    const path = folder()
    chmodSync(path, mode)
    return path
  }
  const linked = (to: string) => {
    const path = `${folder()}/link`
    symlinkSync(to, path)
    return path
  }

  test.each<[string, () => string, RegExp]>([
    ['its own folder', () => `${folder()}/token`, /^accepted$/],
    ['a folder that others may read', () => `${made(0o755)}/token`, /^accepted$/],
    ['a folder that a group may write', () => `${made(0o770)}/token`, /may be written by other users/],
    ['a folder that all may write', () => `${made(0o1777)}/token`, /may be written by other users/],
    ['a link to a folder', () => `${linked(folder())}/token`, /is a link/],
    ['a missing folder', () => `${folder()}/none/token`, /does not exist/],
    ['a folder of another user', () => `${foreign()}/token`, /belongs to user/],
    ['a link in place of the file', () => linked('/etc/passwd'), /is a link or a folder/],
    ['a folder in place of the file', folder, /is a link or a folder/],
    [
      'a folder below a folder that others may write',
      () => {
        const path = made(0o777)
        mkdirSync(`${path}/own`, { mode: 0o700 })
        return `${path}/own/token`
      },
      /lies above/,
    ],
  ])('%s', (_, path, expected) => expect(refused(path())).toMatch(expected))

  test('a file of another user is refused', () => {
    if (!isRoot) return expect(refused('/usr/token')).toMatch(/belongs to user/)
    const path = `${folder()}/token`
    writeFileSync(path, '')
    chownSync(path, 12345, 12345)
    expect(refused(path)).toMatch(/belongs to user 12345/)
  })

  test('writing replaces the file, and a reader with the old file open keeps the old token', () => {
    const place = readTokenPlace(`${folder()}/token`)
    writeTokenFile(place, 'old')
    const before = lstatSync(place.file).ino
    writeFileSync(place.fresh, 'left')
    writeTokenFile(place, 'new')
    expect(readFileSync(place.file, 'utf8')).toBe('new')
    expect(lstatSync(place.file).ino).not.toBe(before)
    expect(readdirSync(place.folder)).toEqual(['token'])
  })
})

describe('the lock of a token file', () => {
  test('a lock of a running process is refused and named', () => {
    const place = readTokenPlace(`${folder()}/token`)
    const lock = acquireAgentLock(place)
    const since = readlinkSync(place.lock).split(':').slice(3).join(':')
    expect(() => acquireAgentLock(place)).toThrow(
      expect.objectContaining({
        exit: 'occupied',
        message: expect.stringContaining(`process ID ${process.pid} keeps ${place.file} since ${since}`),
      }),
    )
    lock.release()
    expect(readdirSync(place.folder)).toEqual([])
  })

  test.each([
    ['has ended', '1234'],
    ['began at another time', undefined],
  ])('a lock whose process %s is replaced, with what its agent left', (_, start) => {
    const place = readTokenPlace(`${folder()}/token`)
    symlinkSync('cloud-auth-agent:4194304:1234:then', place.lock)
    symlinkSync('x', `${place.lock}.99`)
    const lock = acquireAgentLock(place, pid => (pid === process.pid ? 'own' : start && undefined))
    expect(readdirSync(place.folder)).toEqual(['.token.lock'])
    expect(lock.isHeld()).toBe(true)
  })

  test.each([
    ['another link', (path: string) => symlinkSync('/etc/passwd', path)],
    ['a file', (path: string) => writeFileSync(path, 'x')],
  ])('%s in place of the lock is refused', (_, make) => {
    const place = readTokenPlace(`${folder()}/token`)
    make(place.lock)
    expect(() => acquireAgentLock(place)).toThrow(/is not the lock of an agent/)
  })

  test('releasing leaves the lock of another agent', () => {
    const place = readTokenPlace(`${folder()}/token`)
    const lock = acquireAgentLock(place)
    rmSync(place.lock)
    symlinkSync('cloud-auth-agent:1:x:now', place.lock)
    lock.release()
    expect(lock.isHeld()).toBe(false)
    expect(readdirSync(place.folder)).toEqual(['.token.lock'])
  })
})

describe('the command line of the agent', () => {
  const CLUSTERS = { CLOUD_AUTH_CLUSTERS: 'http://127.0.0.1:1' }
  test.each<[string, Record<string, string>, RegExp]>([
    ['', CLUSTERS, /--file FILE, or a program/],
    ['--file token', {}, /CLOUD_AUTH_CLUSTERS/],
    ['--file token --every 0', CLUSTERS, /--every/],
    ['--on-new-token HUP -- true', CLUSTERS, /--file/],
    ['--file token --on-new-token HUP', CLUSTERS, /program/],
  ])('%j is refused', async (line, environment, text) => {
    const read = parseCommandLine(['agent', ...line.split(' ').filter(Boolean)], environment) as ParsedCommand
    const ports = { environment, print: () => undefined, say: () => undefined }
    await expect(runAgent(read, ports)).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringMatching(text),
    })
  })

  test('the words after -- are the program, with its own options', () => {
    expect(parseCommandLine(['agent', '--role', 'r', '--', 'sh', '-c', '--role'], {})).toMatchObject({
      words: ['sh', '-c', '--role'],
      values: { role: 'r' },
    })
  })

  test.each([
    ['HUP', 'SIGHUP'],
    ['sigusr1', 'SIGUSR1'],
  ])('the signal %s is %s', (text, signal) => expect(readSignal(text)).toBe(signal))
  test.each(['KILL', 'SIGSTOP', '9', 'toString', ''])('the signal %j is refused', text =>
    expect(() => readSignal(text)).toThrow('--on-new-token'),
  )
})
