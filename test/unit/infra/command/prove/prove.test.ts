import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { parseProveJournal } from '../../../../../infra/command/prove/journal.ts'
import { proveParts } from '../../../../../infra/command/prove/names.ts'
import { probes } from '../../../../../infra/command/prove/probes.ts'
import type { ProveOptions } from '../../../../../infra/command/prove/tools.ts'
import { AccountInMemory } from './account-in-memory.ts'
import { ACCOUNT, proveWorld } from './prove-world.ts'

let account: AccountInMemory
let questions: string[]
let onSay: (text: string) => void

const {
  world,
  start: startProve,
  stateFolder,
  journals,
  report,
  resultOf,
} = proveWorld({}, async () => account.open(ACCOUNT))
const start = (more: Partial<ProveOptions> = {}, answer = true) =>
  startProve(more, {
    say: text => {
      world.said.push(text)
      onSay(text)
    },
    confirm: async question => {
      questions.push(question)
      return answer
    },
  })

beforeEach(() => {
  account = new AccountInMemory()
  questions = []
  onSay = () => undefined
})

const KEY = expect.objectContaining({ what: 'KMS key a-key', ends: expect.any(String) })

describe('cloud-auth prove', () => {
  test('proves the claims, deletes all stacks, and leaves only the scheduled key', async () => {
    expect(await start()).toBe('done')
    expect(account.stacks.size).toBe(0)
    expect(account.objects.size).toBe(0)
    expect(journals()).toEqual([])
    expect(report()).toMatchObject({ release: '1.0.0', remains: [KEY] })
    expect(report().stopped).toBeUndefined()
    expect(new Set(report().rows.map((row: { result: string }) => row.result))).toEqual(
      new Set(['held', 'not asked']),
    )
    expect(report().measured).toMatchObject({
      'iam login from Lambda, median': '7 ms',
      'cold start, slowest': '412.5 ms',
    })
  })

  test('creates the stacks in the order of their needs, and deletes them in the opposite order', async () => {
    await start()
    const of = (verb: string) =>
      account.calls.filter(call => call.startsWith(`${verb} cloud-auth`)).map(call => call.split('-').at(-1))
    expect(of('create')).toEqual(proveParts)
    expect(of('delete')).toEqual(proveParts.toReversed())
  })

  test('names each stack in the journal before it asks for the stack', async () => {
    const seen: string[] = []
    account.before = call => {
      if (!call.startsWith('create ')) return
      const path = `${stateFolder()}/prove-${journals()[0]}.jsonl`
      seen.push(parseProveJournal(readFileSync(path, 'utf8'))?.remaining.at(-1) ?? '')
    }
    await start()
    expect(seen).toEqual(proveParts)
  })

  test('masks account ids, and prints no secret', async () => {
    await start()
    expect(report().account).toBe('********3333')
    expect([world.printed, ...world.said].join()).not.toMatch(/the-root-token|a-batch-token|111122223333/)
    world.printed = ''
    await start({ showsAccount: true })
    expect(report().account).toBe(ACCOUNT)
  })

  test('makes nothing with --dry-run, or when the answer is no', async () => {
    expect(await start({ isDry: true })).toBe('done')
    expect(world.printed).toMatch(/Nothing was made, because of --dry-run/)
    await expect(start({}, false)).rejects.toMatchObject({ exit: 'declined' })
    expect([account.calls, journals(), questions]).toEqual([[], [], ['Make these stacks?']])
  })

  test('refuses to begin where one of its stacks exists', async () => {
    account.cloud.findStack = async () => ({ status: 'CREATE_COMPLETE', tags: {}, outputs: {} })
    await expect(start()).rejects.toThrow(/exists already. Nothing was made/)
    expect([account.wanted, journals()]).toEqual([[], []])
  })

  test('reports a broken claim', async () => {
    account.result = { logins: [{ status: 400, ms: 3, token: false, errors: ['denied'] }] }
    expect(await start()).toBe('unwell')
    expect(resultOf('wire')).toMatchObject({ result: 'broken', note: expect.stringContaining('0 of 20') })
  })

  test.each([
    ['subnet', { subnet: 'subnet-1 --x' }],
    ['release', { release: undefined }],
    ['limit', { limit: '6' }],
    ['argument', { words: ['x'] }],
  ])('rejects an invalid %s', async (_, more) => {
    await expect(start(more)).rejects.toMatchObject({ exit: 'usage' })
  })
})

/** Fails a call once. */
const failOnce = (pattern: RegExp, message: string) => {
  let hasFailed = false
  account.before = call => {
    if (hasFailed || !pattern.test(call)) return
    hasFailed = true
    throw new Error(message)
  }
}

describe('the teardown', () => {
  test.each(proveParts)('deletes everything after the creation of %s has failed', async part => {
    account.failing.add(part)
    expect(await start()).toBe('refused')
    expect(account.stacks.size).toBe(0)
    expect(journals()).toEqual([])
    expect(report().stopped).toContain('the limit of tables is reached')
    expect(report().remains).toEqual(part === 'assets' ? [] : [KEY])
  })

  test.each(proveParts)('deletes %s, although the answer to its creation was lost', async part => {
    failOnce(new RegExp(`^created .*-${part}$`), 'socket hang up')
    expect(await start()).toBe('refused')
    expect(account.stacks.size).toBe(0)
    expect(journals()).toEqual([])
  })

  test.each(Object.keys(probes))('deletes everything after the run stopped at the probe %s', async id => {
    onSay = text => {
      if (text === `checking ${id}`) throw new Error('a fault of the test')
    }
    expect(await start()).toBe('refused')
    expect([account.stacks.size, journals()]).toEqual([0, []])
    expect(report()).toMatchObject({ stopped: 'a fault of the test', remains: [KEY] })
    expect(resultOf(id)).toMatchObject({ result: 'not asked', note: 'the run stopped earlier' })
  })

  test.each(['put', 'invoke init', 'invoke probe', 'filter logs', 'filter audit'])(
    'deletes everything after a failure of `%s`',
    async call => {
      failOnce(new RegExp(`^${call}`), 'the service is out of order')
      expect(await start()).toMatch(/refused|unwell/)
      expect(account.stacks.size).toBe(0)
    },
  )

  test.each([
    ['SIGINT', 'interrupted'],
    ['SIGTERM', 'terminated'],
    ['SIGHUP', 'terminated'],
  ])('deletes everything after %s, also when it comes twice', async (name, exit) => {
    account.before = call => {
      if (/^(create .*-workers|delete .*-api)$/.test(call)) world.signal(name)
    }
    expect(await start()).toBe(exit)
    expect(account.stacks.size).toBe(0)
    expect(report().stopped).toBe(`${name} ended the run`)
    expect(world.said.join()).toContain('If you kill this process, run cloud-auth prove --cleanup')
  })

  test('keeps a stack that does not have the tag of the run', async () => {
    account.before = call => {
      if (!call.startsWith('invoke probe')) return
      const [name = ''] = [...account.stacks.keys()].filter(one => one.endsWith('-workers'))
      account.stacks.set(name, { status: 'CREATE_COMPLETE', tags: {}, outputs: {} })
    }
    expect(await start()).toBe('refused')
    expect([...account.stacks.keys()]).toEqual([expect.stringMatching(/-workers$/)])
    expect(report().remains).toContainEqual(expect.objectContaining({ why: expect.stringContaining('tag') }))
    expect(journals()).toHaveLength(1)
  })
})

describe('cloud-auth prove --cleanup', () => {
  /** Ends a run at a call, as lost credentials do: all later calls fail too. */
  const loseCredentials = async (pattern: RegExp): Promise<string> => {
    let isLost = false
    account.before = call => {
      isLost ||= pattern.test(call)
      if (isLost) throw new Error('ExpiredToken')
    }
    expect(await start()).toBe('refused')
    account.before = () => undefined
    world.printed = ''
    return journals()[0] ?? ''
  }

  test.each([/^created .*-data$/, /^put/, /^invoke probe$/, /^delete .*-probe$/, /^empty$/])(
    'deletes what a run has left whose credentials ended at %s',
    async pattern => {
      const run = await loseCredentials(pattern)
      expect(account.stacks.size).toBeGreaterThan(0)
      expect(await start({ isCleanup: true })).toBe('done')
      expect(account.partsLeft(run)).toEqual([])
      expect(journals()).toEqual([])
    },
  )

  test('names the run, or cleans up all runs', async () => {
    const run = await loseCredentials(/^created .*-data$/)
    await expect(start({ isCleanup: true, words: ['00000000'] })).rejects.toThrow('cannot be opened (ENOENT)')
    await expect(start({ isCleanup: true, words: ['../x'] })).rejects.toMatchObject({ exit: 'usage' })
    expect(await start({ isCleanup: true, words: [run] })).toBe('done')
    expect(questions.at(-1)).toBe('Delete these stacks?')
    expect(existsSync(`${stateFolder()}/prove-${run}.jsonl`)).toBe(false)
  })

  test('deletes nothing with --dry-run', async () => {
    await loseCredentials(/^created .*-data$/)
    const before = account.stacks.size
    expect(await start({ isCleanup: true, isDry: true })).toBe('done')
    expect([account.stacks.size, journals().length]).toEqual([before, 1])
  })
})

describe('cloud-auth prove --keep', () => {
  const secrets = (run: string) => `${stateFolder()}/prove-${run}.secrets.json`
  const keep = async (): Promise<string> => {
    expect(await start({ keeps: true })).toBe('done')
    return journals()[0] ?? ''
  }

  test('keeps the stacks, and names the file with the root token, which only its owner can read', async () => {
    const run = await keep()
    expect(account.partsLeft(run)).toEqual(proveParts)
    expect(report().remains).toEqual([
      { what: `the stacks of run ${run}`, why: expect.stringContaining(secrets(run)) },
    ])
    expect(statSync(secrets(run)).mode & 0o777).toBe(0o600)
    expect(readFileSync(secrets(run), 'utf8')).toContain('the-root-token')
    expect([world.printed, ...world.said].join()).not.toContain('the-root-token')
  })

  test('deletes the stacks and the file of a run that stops before its end', async () => {
    failOnce(/^created .*-probe$/, 'socket hang up')
    expect(await start({ keeps: true })).toBe('refused')
    expect([account.stacks.size, journals()]).toEqual([0, []])
    expect(readdirSync(stateFolder())).toEqual([])
  })

  test('lets --resume repeat the probes without new stacks, and delete everything', async () => {
    const run = await keep()
    const made = account.wanted.length
    world.printed = ''
    const again = { isResume: true, words: [run], release: undefined }
    expect(await start({ ...again, keeps: true })).toBe('done')
    expect(account.partsLeft(run)).toEqual(proveParts)
    world.printed = ''
    expect(await start(again)).toBe('done')
    expect(account.wanted).toHaveLength(made)
    expect(report()).toMatchObject({ run, release: '1.0.0', remains: [KEY] })
    expect(resultOf('wire')).toMatchObject({ result: 'held' })
    expect([account.stacks.size, readdirSync(stateFolder())]).toEqual([0, []])
  })

  test('lets a cleanup delete the stacks and the file', async () => {
    const run = await keep()
    expect(await start({ isCleanup: true, words: [run] })).toBe('done')
    expect([account.stacks.size, existsSync(secrets(run))]).toEqual([0, false])
  })

  test('deletes a resumed run that finds a stack without its tag, except for this stack', async () => {
    const run = await keep()
    const [name = ''] = [...account.stacks.keys()].filter(one => one.endsWith('-probe'))
    account.stacks.set(name, { status: 'CREATE_COMPLETE', tags: {}, outputs: {} })
    world.printed = ''
    expect(await start({ isResume: true, words: [run], release: undefined })).toBe('refused')
    expect(report().stopped).toBe(`the stack ${name} of the run is missing or incomplete`)
    expect([...account.stacks.keys()]).toEqual([name])
  })

  test.each([
    ['no run', { words: [] }],
    ['no name of a run', { words: ['../x'] }],
    ['a release', { words: ['0a1b2c3d'], release: '/release' }],
  ])('rejects --resume with %s', async (_, more) => {
    await expect(start({ isResume: true, release: undefined, ...more })).rejects.toMatchObject({
      exit: 'usage',
    })
  })

  test('rejects two regions, of which the run loses one', async () => {
    await expect(start({ keeps: true, peerRegion: 'eu-west-2' })).rejects.toThrow('cannot be used with')
  })
})
