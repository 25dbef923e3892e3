import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { parseProveJournal } from '../../../../../infra/command/prove/journal.ts'
import { peerParts, proveParts, stackNameInRun } from '../../../../../infra/command/prove/names.ts'
import { AccountInMemory } from './account-in-memory.ts'
import { ACCOUNT, proveWorld } from './prove-world.ts'

// Runs `cloud-auth prove --peer-region` in accounts in memory. The clusters do not replicate, so the rows of the pair are
// broken. test/deployed/long/prove-pair.test.ts has clusters that replicate.

const REGIONS = { first: 'eu-west-1', peer: 'eu-central-1' }
/** the account in each region */
let accounts: Record<string, AccountInMemory>

beforeEach(() => {
  accounts = { [REGIONS.first]: new AccountInMemory(), [REGIONS.peer]: new AccountInMemory() }
})

const accountIn = (region: string): AccountInMemory => {
  const found = accounts[region]
  if (found === undefined) throw new Error(`no account in ${region}`)
  return found
}
const first = () => accountIn(REGIONS.first)
const peer = () => accountIn(REGIONS.peer)

const { world, start, stateFolder, journals, report, resultOf } = proveWorld(
  { peerRegion: REGIONS.peer },
  async (region = '') => accountIn(region).open(ACCOUNT),
  () => [200, { request_id: '0-1-2', data: {} }],
)

const created = ({ calls }: AccountInMemory) =>
  calls.flatMap(call => /^create cloud-auth-prove-[0-9a-f]{8}-(.*)/.exec(call)?.[1] ?? [])
const stacksLeft = () => [...first().stacks.keys(), ...peer().stacks.keys()]

describe('cloud-auth prove --peer-region', () => {
  test('makes the stacks of each cluster in its region, gives both a licence, and deletes all stacks', async () => {
    expect(await start()).toBe('unwell')
    expect([created(first()), created(peer())]).toEqual([[...proveParts], [...peerParts]])
    const licences = [first(), peer()].map(
      ({ wanted }) => wanted.find(one => one.name.endsWith('-api'))?.parameters['License'],
    )
    expect(licences).toEqual([expect.stringMatching(/^ey/), licences[0]])
    expect(stacksLeft()).toEqual([])
    expect(journals()).toEqual([])
    expect(report()).toMatchObject({ region: REGIONS.first, peerRegion: REGIONS.peer })
    expect(report().remains).toHaveLength(2)
    expect(resultOf('link')).toMatchObject({ result: 'broken' })
    expect([world.printed, ...world.said].join()).not.toMatch(/the-root-token|the-share|111122223333/)
  })

  test('starts the functions that a schedule would start, in both regions', async () => {
    await start()
    for (const { calls } of [first(), peer()])
      expect(calls).toEqual(expect.arrayContaining(['start pull', 'start journal']))
  })

  test('prints the stacks of both regions, and the price of both', async () => {
    await start({ isDry: true, peerRegion: undefined })
    const [, one = ''] = /([\d.]+) USD {2}together/.exec(world.printed) ?? []
    world.printed = ''
    await start({ isDry: true })
    const [, both = ''] = /([\d.]+) USD {2}together/.exec(world.printed) ?? []
    expect(world.printed).toContain(`regions ${REGIONS.first} and ${REGIONS.peer}`)
    for (const part of peerParts) expect(world.printed).toContain(`-${part}`)
    expect(Number(both)).toBeGreaterThan(1.5 * Number(one))
  })

  test('rejects the same region twice', async () => {
    await expect(start({ peerRegion: REGIONS.first })).rejects.toMatchObject({ exit: 'usage' })
  })

  test('refuses to begin where a stack of the other region exists', async () => {
    peer().cloud.findStack = async () => ({ status: 'CREATE_COMPLETE', tags: {}, outputs: {} })
    await expect(start()).rejects.toThrow(/peer-assets exists already. Nothing was made/)
    expect(journals()).toEqual([])
  })

  test.each(peerParts)(
    'deletes everything in both regions after the creation of %s has failed',
    async part => {
      peer().failing.add(part)
      expect(await start()).toBe('refused')
      expect(stacksLeft()).toEqual([])
      expect(journals()).toEqual([])
    },
  )

  test('deletes everything in both regions after SIGINT in the other region', async () => {
    peer().before = call => {
      if (/^create .*-peer-workers$/.test(call)) world.signal('SIGINT')
    }
    expect(await start()).toBe('interrupted')
    expect(stacksLeft()).toEqual([])
  })

  test('deletes with --cleanup what a run has left in both regions', async () => {
    peer().before = call => {
      if (/^(created .*-peer-data|find|delete)/.test(call) && created(peer()).length > 1)
        throw new Error('ExpiredToken')
    }
    expect(await start()).toBe('refused')
    const [run = ''] = journals()
    const text = readFileSync(`${stateFolder()}/prove-${run}.jsonl`, 'utf8')
    expect(parseProveJournal(text)).toMatchObject({
      peerRegion: REGIONS.peer,
      remaining: ['peer-assets', 'peer-data'],
    })
    expect([...peer().stacks.keys()]).toEqual([
      stackNameInRun(run, 'peer-assets'),
      stackNameInRun(run, 'peer-data'),
    ])
    peer().before = () => undefined
    expect(await start({ isCleanup: true })).toBe('done')
    expect([stacksLeft(), journals()]).toEqual([[], []])
  })
})

test('a journal of one region names no stack of another region', () => {
  const run = { run: '0123abcd', region: 'eu-west-1', account: ACCOUNT, pid: 1 }
  const lines = [run, { makes: stackNameInRun('0123abcd', 'peer-data') }]
  const text = (all: object[]) => all.map(one => `${JSON.stringify(one)}\n`).join('')
  expect(parseProveJournal(text(lines))).toBeUndefined()
  const inTwo = { ...run, peerRegion: 'eu-west-2' }
  expect(parseProveJournal(text([inTwo, ...lines.slice(1)]))?.remaining).toEqual(['peer-data'])
  expect(parseProveJournal(text([{ ...run, peerRegion: '../x' }, ...lines.slice(1)]))).toBeUndefined()
})
