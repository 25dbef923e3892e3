import { expect, test } from 'vitest'
import type { AccessEntry } from '../../shared/model/access-entry.ts'
import { createItem } from '../../shared/storage/changes.ts'
import { termNumberOf } from '../../shared/storage/encryption.ts'
import { itemPartitions, key } from '../../shared/storage/kinds.ts'
import { type ClusterSet, clusterSet } from '../support/set/set.ts'

// Re-encrypts many secrets on a primary and its secondary with a simulated clock, while job runs die.

/** Number of secrets. `SECRETS=10000 npm run test:long -- reencryption` takes fewer secrets. */
const SECRETS = Number(process.env['SECRETS'] ?? 100_000)
/** Numbers of calls after which a run dies. */
const DEATHS = [3, ...[1, 4, 10].map(percent => Math.ceil((SECRETS / 20) * (percent / 100)))]
/** Maximum number of re-encryption writes a second. The rest of the journal's rate is left to logins. */
const MOST_IN_A_SECOND = 310

const print = (text: string) => process.stderr.write(`${text}\n`)

async function filled(set: ClusterSet): Promise<string> {
  const { ports, record } = set.at('east')
  const [mounts] = await ports.store.read([key('mounts')])
  const mount = mounts?.data.mounts.find(({ path }) => path === 'cloud')?.accessor ?? ''
  for (let at = 0; at < SECRETS; at += 50) {
    const changes = Array.from({ length: Math.min(50, SECRETS - at) }, async (_, index) => {
      const place = key('access', mount, `i-${at + index}`)
      const clientNonce = await ports.cipher.encrypt(place, 'clientNonce', `nonce ${at + index}`)
      return createItem(place, {
        clientNonce,
        role: 'a',
        expiresAt: set.clock.now(),
      } as unknown as AccessEntry)
    })
    const as = { record: await record(), readAt: ports.clock.now() }
    expect(await ports.store.commit(await Promise.all(changes), as)).toBe('done')
  }
  return mount
}

const termsOf = async (set: ClusterSet, name: string, mount: string) => {
  const entries = await set.at(name).ports.store.list(itemPartitions('access', mount))
  const counts = new Map<number, number>()
  for (const { data } of entries) {
    const term = termNumberOf(data.clientNonce ?? '') ?? 0
    counts.set(term, (counts.get(term) ?? 0) + 1)
  }
  return Object.fromEntries(counts)
}

test(`${SECRETS} secrets are re-encrypted at a limited rate although runs die and clients log in, with progress in the status and the end in the audit log`, async () => {
  const set = await clusterSet(['east', 'west'], { memory: true, aws: true })
  const mount = await filled(set)
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
  const east = set.at('east')
  const status = async () => (await east.ok('GET', '/sys/key-status')).body.data
  const startedAt = set.clock.now()
  const began = performance.now()
  const from = set.recording.history.length
  await east.ok('POST', '/sys/rotate')
  const deaths = DEATHS.map(at => ({ at, dead: false }))
  const shown: number[] = []
  for (let minute = 0; minute < 60; minute++) {
    const death = deaths[minute]
    if (death)
      set.trap({
        cluster: 'east',
        process: 'on-job',
        at: death.at,
        when: 'after' as const,
        does: 'dies' as const,
        struck: () => {
          death.dead = true
        },
      })
    await set.clock.sleep(60_000)
    await set.tick()
    const { reencryption } = await status()
    shown.push(reencryption.seen)
    // a login writes between two writes of the job
    await east.ok('POST', '/auth/token/create', {
      policies: ['default'],
      ttl: '1h',
    })
    if (reencryption.state === 'done') break
  }
  const { reencryption } = await status()
  await set.converge()
  const took = (performance.now() - began) / 1000
  const perSecond = new Map<number, number>()
  for (const entry of set.recording.history.slice(from))
    if (entry.what === 'written' && entry.cluster === 'east')
      for (const { pk } of entry.changes)
        if (pk.startsWith(`${mount}#access`)) {
          const second = Math.floor(entry.at / 1000)
          perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
        }
  const most = Math.max(...perSecond.values())
  const seconds = (Date.parse(reencryption.done_time) - startedAt) / 1000
  print(
    `${SECRETS} secrets: ${perSecond.size} seconds in which something was written, ${most} in one at most; done ${seconds} s after the rotation, ${reencryption.pass} passes, seen ${shown.join(', ')}; ${took.toFixed(0)} s of this machine`,
  )
  expect(deaths.map(({ dead }) => dead)).toEqual(DEATHS.map(() => true))
  expect(reencryption).toMatchObject({
    state: 'done',
    left: 0,
    unreadable: { count: 0 },
  })
  for (const name of ['east', 'west']) expect(await termsOf(set, name, mount)).toEqual({ 2: SECRETS })
  expect(most).toBeLessThanOrEqual(MOST_IN_A_SECOND)
  const ends = east.audited.filter(entry => (entry as { event?: string }).event === 'reencrypted')
  expect(ends).toHaveLength(1)
}, 3_600_000)
