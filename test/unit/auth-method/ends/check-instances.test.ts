import { beforeEach, describe, expect, test } from 'vitest'
import { checkInstances } from '../../../../shared/auth-method/ends/check-instances.ts'
import { createJobRun } from '../../../../shared/jobs/job.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { portsWith } from '../../../builders/ports.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

// EC2 is replaced, because the imitated EC2 does not answer late.

const START = 1_790_000_000_000
const RUN_MS = 870_000
const ACCOUNT = '111122223333'
const own = mount({})

let memory: ReturnType<typeof memoryStore>
let now = START
let warnings: object[] = []
beforeEach(() => {
  now = START
  warnings = []
  memory = memoryStore([clusterItem(), item(key('mounts'), { mounts: [own], removing: [] })])
})

function logIn(id: string, loggedInAt = START - 3_600_000): void {
  const place = key('instance', own.accessor, `${ACCOUNT}.${id}`)
  memory.stored.put(item(place, { region: 'eu-west-1', loggedInAt }))
}

const ended = () =>
  memory.stored
    .of('instance')
    .filter(({ data }) => data.endedAt !== undefined)
    .map(({ sk }) => sk)
const progress = () => memory.stored.of('instance-round')[0]?.data

/** Runs the worker. @param describe answers for an instance */
async function run(describe: (id: string) => Instance | undefined): Promise<void> {
  const ports = portsWith({
    store: memory.as('on-account-facts'),
    clock: { now: () => now, sleep: async () => undefined },
    log: { info: () => undefined, warn: (_: string, fields: object) => void warnings.push(fields) },
    cipher: { expectKeyring: () => undefined },
    deployment: { home: '' },
    instances: { describe: async (_target: unknown, id: string) => describe(id) },
  })
  await checkInstances(createJobRun(ports, now + RUN_MS))
}

const ID = 'i-0123456789abcdef0'
const terminated: Instance = { id: ID, state: 'terminated', tags: {} }

describe('a run whose environment is frozen while EC2 answers', () => {
  test('does not end an instance that was too young to be known', async () => {
    logIn(ID, START - 1000)
    await run(() => {
      now += 660_000
      return undefined
    })
    expect(ended()).toEqual([])
  })

  test('leaves the ends that it could not store to the next run, not to the next round', async () => {
    logIn(ID)
    await run(() => {
      now += 2 * RUN_MS
      return terminated
    })
    expect([ended(), progress()?.next]).toEqual([[], { mount: own.accessor, after: '' }])
    await run(() => terminated)
    expect([ended(), progress()?.next]).toEqual([[`${ACCOUNT}.${ID}`], undefined])
  })
})

test('an instance that EC2 left out of a list ends only if EC2 does not know it when asked for it alone', async () => {
  const gone = 'i-00000000'
  logIn(ID)
  logIn(gone)
  const asked = new Set<string>()
  await run(id => {
    const isAlone = asked.has(id)
    asked.add(id)
    return isAlone && id === ID ? { id, state: 'running', tags: {} } : undefined
  })
  expect(ended()).toEqual([`${ACCOUNT}.${gone}`])
})

test('no instance ends because the STS role of its account asks EC2 of another account', async () => {
  logIn(ID)
  const role = (account: string) => ({ role: `arn:aws:iam::${account}:role/reader`, externalId: '' })
  const sts = key('sts-role', own.accessor, ACCOUNT)
  memory.stored.put(item(sts, role('444455556666')))
  await run(() => undefined)
  expect([ended(), warnings]).toEqual([
    [],
    [
      expect.objectContaining({
        left: 1,
        unreachable: {
          [`${ACCOUNT} eu-west-1`]: `Error: the STS role of account ${ACCOUNT} is a role of account 444455556666`,
        },
      }),
    ],
  ])
  memory.stored.put(item(sts, role(ACCOUNT)))
  now += 86_400_000
  await run(() => undefined)
  expect(ended()).toEqual([`${ACCOUNT}.${ID}`])
})
