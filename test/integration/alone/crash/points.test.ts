import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpointGroups } from '../../../../shared/endpoints/all.ts'
import type { Reply } from '../../../support/service/api.ts'
import {
  api,
  cluster,
  done,
  freshMount,
  localCertificate,
  settled,
  storage,
} from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { changesBy } from '../../../support/tables/written.ts'
import { manySteps, oneCommit, type Sent, type Writing } from '../../crash/requests.ts'

// Cuts every request that writes at each of its storage calls: before the call reaches the engine, and after
// the call took effect but its answer was lost. The tables must then have no change or the whole change, the
// client gets an error, and a repeated request completes the change.

/**
 * Handlers whose crashes other test files cover: alone/rotate-root/rotate-root.test.ts,
 * alone/tidy/runs.test.ts, the removal of mounts, initialisation.
 */
const elsewhere = [
  'POST /auth/:mount/config/rotate-root',
  'POST /auth/:mount/tidy/identity-accesslist',
  'POST /auth/:mount/tidy/roletag-denylist',
  'DELETE /sys/auth/:method_path',
  'POST /sys/init',
]

test('every handler that writes has a crash test', () => {
  const endpoints = endpointGroups.flatMap(group => group.endpoints)
  const tried = [...[...oneCommit, ...manySteps].map(row => row.endpoint), ...elsewhere]
  const known = endpoints.filter(({ method, path }) => tried.includes(`${method} ${path}`))
  expect(known).toHaveLength(new Set(tried).size)
  const untried = endpoints.filter(
    ({ uses, handle }) => uses.includes('write') && !known.some(other => other.handle === handle),
  )
  expect(untried.map(({ method, path }) => `${method} ${path}`)).toEqual([])
})

withoutWaiting()
let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
})
afterAll(() => storage.reset())

const send = ({ method, path, body, options }: Sent): Promise<Reply> => api(method, path, body, options)
const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']

/** Sends the request without faults, and returns its changes and its storage calls with warm caches. */
async function undisturbed(row: Writing): Promise<{ wanted: string[]; calls: string[] }> {
  await send(await row.arrange(mount))
  await settled()
  const request = await row.arrange(mount)
  await settled()
  await storage.reset()
  const reply = await send(request)
  await settled()
  expect(reply.status, reply.text).toBeLessThan(300)
  const all = await storage.calls()
  const calls = all.map(call => call.operation)
  const end = row.ends ? calls.findIndex(operation => WRITES.includes(operation)) + 1 : calls.length
  return { wanted: await changesBy(cluster, all), calls: calls.slice(0, end) }
}

interface Cut {
  skip: number
  when: 'before' | 'after'
}

/**
 * Returns the points at which to cut: each write before and after its effect, and the first `reads`
 * reads.
 */
const cutsOf = (calls: readonly string[], reads = calls.length): Cut[] =>
  calls.flatMap((operation, skip): Cut[] => {
    if (WRITES.includes(operation))
      return [
        { skip, when: 'before' },
        { skip, when: 'after' },
      ]
    return skip < reads ? [{ skip, when: 'before' }] : []
  })

const nameOf = (calls: readonly string[], { skip, when }: Cut): string =>
  `call ${skip + 1} (${calls[skip]}), ${when} it takes effect`

const titled = (rows: readonly Writing[]) =>
  rows.map(row => ({ name: `${row.endpoint}${row.title ? ` (${row.title})` : ''}`, row }))

/**
 * Sends the request with a fault. The result reads the changes, at once or later, and can send the request
 * again.
 */
async function cutAt(row: Writing, fault: Cut & { whole?: true }) {
  const request = await row.arrange(mount)
  await settled()
  await storage.reset()
  await storage.fault({ kind: 'reset', ...fault })
  const reply = await send(request)
  await settled()
  const struck = (await storage.calls()).some(call => call.struck)
  await storage.mend()
  // a function that met the fault records the fault for the status endpoint; this record is no change by the
  // request
  const changes = async () =>
    (await changesBy(cluster, await storage.calls())).filter(change => change !== 'fault')
  return { reply, struck, changes, repeated: () => send(request) }
}

function isClear(reply: Reply, where: string): void {
  expect(reply.status, `${where}: ${reply.text}`).toBe(503)
  expect(reply.body.errors[0]).toMatch(/\w/)
  expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
}

// these tests come first, because completing requests with several commits reads all tokens
describe('a request with several commits', () => {
  test.each(titled(manySteps))(
    '$name is complete after a retry, whichever call the first attempt was cut at',
    async ({ row }) => {
      const { wanted, calls } = await undisturbed(row)
      for (const cut of cutsOf(calls)) {
        const where = nameOf(calls, cut)
        const { reply, changes, repeated } = await cutAt(row, { ...cut, whole: true })
        if (reply.status >= 300) isClear(reply, where)
        const again = await repeated()
        const good = again.status < 300 || again.status === row.spent
        expect(good, `${where}, again: ${again.status} ${again.text}`).toBe(true)
        await row.settle?.()
        await settled()
        expect(await changes(), where).toEqual(wanted)
      }
    },
  )

  test('succeeds after its first commit, although the cleanup after that commit fails', async () => {
    const [revoke] = manySteps
    if (!revoke) throw new Error('rows')
    const { calls } = await undisturbed(revoke)
    const skip = calls.findIndex(operation => WRITES.includes(operation)) + 1
    const { reply, struck } = await cutAt(revoke, { skip, when: 'before', whole: true })
    expect([struck, reply.status]).toEqual([true, 204])
  })
})

describe('a request with one commit', () => {
  test.each(titled(oneCommit))(
    '$name takes effect completely or not at all, whichever call the request is cut at',
    async ({ row }) => {
      const { wanted, calls } = await undisturbed(row)
      expect(wanted.length).toBeGreaterThan(0)
      let strikes = 0
      for (const cut of cutsOf(calls, 1)) {
        const where = nameOf(calls, cut)
        const { reply, struck, changes, repeated } = await cutAt(row, { ...cut, whole: true })
        if (!struck) continue
        strikes += 1
        isClear(reply, where)
        const found = await changes()
        expect(found, where).toEqual(cut.when === 'after' ? wanted : [])
        const again = await repeated()
        const good = again.status < 300 || (found.length > 0 && again.status === row.spent)
        expect(good, `${where}, again: ${again.status} ${again.text}`).toBe(true)
      }
      expect(strikes, 'cuts that were made').toBeGreaterThanOrEqual(3)

      const lastWrite = calls.findLastIndex(operation => WRITES.includes(operation))
      const { reply, changes } = await cutAt(row, { skip: lastWrite, when: 'after' })
      expect(reply.status, `an answer that is lost once: ${reply.text}`).toBeLessThan(300)
      expect(await changes(), 'an answer that is lost once').toEqual(wanted)
    },
  )
})
