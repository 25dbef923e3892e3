import { beforeEach, describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import { gatherOrganization } from '../../../../shared/auth-method/login/organization.ts'
import { type RoundPayload, runOrganizationRound } from '../../../../shared/auth-method/organization/round.ts'
import { createJobRun, type JobResult } from '../../../../shared/jobs/job.ts'
import type { OrganizationMap, OrganizationPage } from '../../../../shared/model/organization.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { portsWith } from '../../../builders/ports.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

// The reader is replaced, because the imitated AWS repeats no page and changes nothing in the middle of a call.

const MOUNT = 'auth_cloud_1'
const ORGANIZATION = 'o-a1b2c3d4e5'
const [A, B, C] = ['111122223331', '111122223332', '111122223333'] as const
const START = 1_790_000_000_000
const RUN_MS = 600_000

type List = (
  what: string,
  parent: string,
  next: string | undefined,
) => OrganizationPage | Promise<OrganizationPage>

const place = (account: string) => key('organization-account', MOUNT, account)
const mapKey = key('organization-map', MOUNT)
const newMap: OrganizationMap = { accounts: 0, completedAt: 0, maxAge: 3600 }
const config = { role: '', externalId: '', maxAge: 3600 }

let memory: ReturnType<typeof memoryStore>
let now = START
let calls = 0
beforeEach(() => {
  now = START
  calls = 0
  memory = memoryStore([clusterItem(), item(key('organization-config', MOUNT), config), item(mapKey, newMap)])
})

/** Stores the map of a configuration that was written again. */
const configureAgain = () => memory.stored.put(item(mapKey, newMap, 'again'))
const accounts = () => memory.stored.of('organization-account').map(({ sk }) => sk)
const map = () => memory.stored.of('organization-map')[0]?.data

/** Runs one round to its end, in as many runs as it needs. @param list answers every list but that of the roots */
async function round(list: List, payload: Partial<RoundPayload> = {}, mostRuns = 100): Promise<number> {
  const ports = portsWith({
    store: memory.as('on-job'),
    clock: {
      now: () => now,
      sleep: async (ms: number) => {
        now += ms
      },
    },
    entropy: { uuid: () => `round-${now}` },
    log: { error: () => undefined },
    cipher: { expectKeyring: () => undefined },
    deployment: { home: '', region: 'eu-west-1', assumableRoles: [] },
    organizations: {
      describe: async () => ORGANIZATION,
      list: async (_target: unknown, what: string, parent: string, next: string | undefined) => {
        calls += 1
        return what === 'roots' ? { ids: ['r-ab12'] } : list(what, parent, next)
      },
    },
  })
  let next: RoundPayload = { mount: MOUNT, ...payload }
  for (let runs = 1; runs <= mostRuns; runs++) {
    const result: JobResult = await runOrganizationRound(createJobRun(ports, now + RUN_MS), next)
    if (result === 'done') return runs
    next = result.again as unknown as RoundPayload
  }
  throw new Error('the round has no end')
}

const unitsAt =
  (parents: Readonly<Record<string, readonly string[]>>, all: readonly string[]): List =>
  (what, parent) => ({ ids: what === 'units' ? (parents[parent] ?? []) : parent === 'r-ab12' ? all : [] })

describe('a round ends with a fault', () => {
  const fault = () => map()?.lastError

  test('when the list of a parent has no end', async () => {
    await round(what => (what === 'units' ? { ids: [], next: 'x' } : { ids: [A] }))
    expect(fault()).toBe('the organization has more than 20000 pages')
    expect(calls).toBeLessThan(20_010)
    expect(map()).toMatchObject({ completedAt: 0 })
  })

  test('when units contain each other', async () => {
    await round(unitsAt({ 'r-ab12': ['ou-1'], 'ou-1': ['ou-2'], 'ou-2': ['ou-1'] }, [A]))
    expect(fault()).toBe('the organization has units deeper than 10 levels')
    expect(calls).toBeLessThan(50)
  })

  test('when a call fails in each of eight attempts, and not before', async () => {
    const failing = () => {
      throw new ApiError('provider_failed', 'down', { reason: { why: 'provider-failed' } })
    }
    let left = 7
    await round(what =>
      what === 'accounts' && left-- > 0 ? failing() : { ids: what === 'accounts' ? [A] : [] },
    )
    expect([fault(), accounts()]).toEqual([undefined, [A]])
    await round(failing)
    expect(fault()).toBe('down')
  })

  test('when AWS lists no account, and deletes none', async () => {
    memory.stored.put(item(place(A), { organization: ORGANIZATION, path: 'o/r' }))
    await round(() => ({ ids: [] }))
    expect([fault(), accounts()]).toEqual(['AWS listed no account of the organization', [A]])
  })

  test('at once when AWS refuses a call', async () => {
    await round(() => {
      throw new ApiError('provider_failed', 'refused', { reason: { why: 'provider-refused' } })
    })
    expect([fault(), calls]).toEqual(['refused', 2])
  })
})

describe('a round stores no more accounts', () => {
  /** A list of accounts A and B, and of C in a unit; `meanwhile` happens during the call about the unit. */
  const interrupted =
    (meanwhile: () => unknown): List =>
    async (what, parent) => {
      if (what === 'units') return { ids: parent === 'r-ab12' ? ['ou-1'] : [] }
      if (parent === 'r-ab12') return { ids: [A, B] }
      await meanwhile()
      return { ids: [C] }
    }

  test('after its configuration was deleted', async () => {
    await round(
      interrupted(() => {
        memory.stored.remove(key('organization-config', MOUNT))
        memory.stored.remove(mapKey)
      }),
    )
    expect(accounts()).toEqual([A, B])
  })

  test('after the configuration got another role', async () => {
    await round(interrupted(configureAgain))
    expect([accounts(), map()]).toEqual([[A, B], newMap])
  })

  test('after its environment was frozen for longer than the run, and the next run reads the page again', async () => {
    let freezes = true
    const runs = await round(
      interrupted(() => {
        if (freezes) now += 2 * RUN_MS
        freezes = false
      }),
    )
    expect([runs, accounts(), map()?.accounts]).toEqual([2, [A, B, C], 3])
    expect(calls).toBe(6)
  })
})

describe('a round that runs', () => {
  const runs = (epoch?: string) => ({
    ...newMap,
    round: { runner: 'other', until: START + 1, ...(epoch ? { epoch } : {}) },
  })
  const list: List = what => ({ ids: what === 'accounts' ? [A] : [] })

  test('keeps others from beginning one', async () => {
    memory.stored.put(item(mapKey, runs()))
    await round(list)
    expect([accounts(), map()]).toEqual([[], runs()])
  })

  test('ended with its primary, so the promoted cluster begins one at once', async () => {
    memory.stored.put(clusterItem({ epoch: 'e2' }))
    memory.stored.put(item(mapKey, runs('e1')))
    await round(list)
    expect(accounts()).toEqual([A])
  })
})

describe('the deletion of a map', () => {
  const all = Array.from({ length: 50 }, (_, index) => String(111_122_223_000 + index))

  test('stops when the organization is configured again', async () => {
    for (const id of all) memory.stored.put(item(place(id), { organization: ORGANIZATION, path: 'o/r' }))
    memory.stored.remove(key('organization-config', MOUNT))
    memory.stored.remove(mapKey)
    const { commit } = memory.store
    let commits = 0
    memory.store.commit = async (...args) => {
      const verdict = await commit(...args)
      if (++commits === 1) configureAgain()
      return verdict
    }
    await round(() => ({ ids: [] }))
    expect([commits, accounts().length]).toEqual([1, 30])
  })

  test('at the end of a round stops when another round has begun', async () => {
    for (const id of all) memory.stored.put(item(place(id), { organization: ORGANIZATION, path: 'o/r' }))
    const { list } = memory.store
    memory.store.list = async (...args) => {
      configureAgain()
      return list(...args)
    }
    await round(what => ({ ids: what === 'accounts' ? all.slice(0, 1) : [] }))
    expect(accounts()).toHaveLength(50)
  })
})

test('an account that an earlier organization has left in the map is in no organization', async () => {
  memory.stored.put(item(mapKey, { ...newMap, organization: ORGANIZATION, completedAt: START }))
  for (const [id, organization] of [
    [A, ORGANIZATION],
    [B, 'o-zzzzzzzzzz'],
  ] as const)
    memory.stored.put(item(place(id), { organization, path: `${organization}/r-ab12` }))
  const isMet = async (account: string, bound: string) => {
    const role = { claims: { bound_organization_id: [bound] } } as unknown as Role
    const call = { mount: { accessor: MOUNT }, now }
    return (await gatherOrganization(call, memory.store.read, role, account))['bound_organization_id']?.isMet
  }
  expect(await isMet(A, ORGANIZATION)).toBe(true)
  expect(await isMet(B, 'o-zzzzzzzzzz')).toBe(false)
})
