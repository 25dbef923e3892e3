import { beforeAll, expect, test } from 'vitest'
import type { AccessEntry } from '../../../../shared/model/access-entry.ts'
import { createItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// A promotion without the primary loses deletions that only the old primary acknowledged: an instance may log
// in again, and a denied role tag is valid again. The report lists lost deletions, so that an operator can
// repeat them on the new primary.

const R = '/sys/replication/dr'
const ROLE = '/auth/cloud/role/fleet'
/** Number of commits around the deletions, which fill several parts and pages of the report. */
const OTHERS = 40
const LONG = `# ${'x'.repeat(9000)}`

let from: Warm
beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

interface Lost {
  position: string
  changes: { kind: string; key: [pk: string, sk: string]; item?: unknown; deleted?: true }[]
}

const report = async (set: ClusterSet, query = '') =>
  (await set.at('east').ok('GET', `${R}/divergence${query}`)).body.data as { lost: Lost[]; next: string }

/** Returns all pages of the report. */
async function pages(set: ClusterSet, limit: number): Promise<Lost[]> {
  const all: Lost[] = []
  for (let after = ''; ; ) {
    const query = `?limit=${limit}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`
    const { lost, next } = await report(set, query)
    expect(lost.length).toBeLessThanOrEqual(limit)
    all.push(...lost)
    if (next === '') return all
    after = next
  }
}

const deletionsIn = (lost: readonly Lost[]): string[] =>
  lost
    .flatMap(({ changes }) => changes)
    .filter(change => change.deleted)
    .map(({ kind, key: [, name] }) => `${kind} ${name}`)
    .sort()

/** Stores an instance's access-list entry, as a login does. */
async function entered(set: ClusterSet, accessor: string, instance: string): Promise<void> {
  const { ports, record } = set.at('east')
  const now = ports.clock.now()
  const entry: AccessEntry = {
    role: 'fleet',
    disallowReauthentication: true,
    pendingTime: '',
    createdAt: now,
    updatedAt: now,
    expiresAt: now + 3_600_000,
  }
  const as = { record: await record(), readAt: now }
  expect(await ports.store.commit([createItem(key('access', accessor, instance), entry)], as)).toBe('done')
}

test('lost deletions of both kinds are in every paging of the report as soon as the former primary follows the new primary', async () => {
  const set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
  const east = set.at('east')
  const { body: mounts } = await east.ok('GET', '/sys/auth')
  const { accessor } = mounts.data['cloud/']
  await east.ok('POST', ROLE, { auth_type: 'ec2', bound_region: 'us-east-1', role_tag: 'tag', policies: [] })
  const tags: string[] = []
  for (const instance of ['i-0a', 'i-0b', 'i-0c']) {
    await entered(set, accessor, instance)
    const { body } = await east.ok('POST', `${ROLE}/tag`, { instance_id: instance })
    tags.push(body.data.tag_value)
    await east.ok('POST', `/auth/cloud/roletag-denylist/${encodeURIComponent(body.data.tag_value)}`)
  }
  await set.converge()

  set.recording.allowTwo('east')
  set.cut('east', 'west')
  const forced = { dr_operation_token: from.operator, force: true }
  await set.at('west').ok('POST', `${R}/secondary/promote`, forced)
  await set.settled()
  const wanted: string[] = []
  for (let count = 0; count < OTHERS; count++) {
    await east.ok('POST', `/sys/policies/acl/of-${count}`, { policy: LONG })
    if (count % 15 !== 7) continue
    const index = Math.floor(count / 15)
    const [instance, tag = ''] = [['i-0a', 'i-0b', 'i-0c'][index], tags[index]]
    await east.ok('DELETE', `/auth/cloud/identity-accesslist/${instance}`)
    await east.ok('DELETE', `/auth/cloud/roletag-denylist/${encodeURIComponent(tag)}`)
    wanted.push(`access ${instance}`, `deny ${tag}`)
  }
  // a deletion that the client repeated without an answer has the time of its first commit
  await east.ok('DELETE', '/auth/cloud/identity-accesslist/i-0a')

  set.heal('east', 'west')
  await set.at('west').pull()
  const { body } = await set.at('west').ok('POST', `${R}/primary/secondary-token`, { id: 'east-again' })
  const given = { dr_operation_token: from.operator, token: body.wrap_info.token }
  await east.ok('POST', `${R}/secondary/update-primary`, given)
  // listed commits stay listed, however often the report is read meanwhile
  let named = 0
  for (let looks = 0; !set.isEven || looks < 200; looks++) {
    const { length } = await pages(set, 1000)
    expect(length).toBeGreaterThanOrEqual(named)
    named = length
    if ((await set.isEven('east')) && named > 0) break
    await set.clock.sleep(100)
    set.start(() => set.at('east').pull())
  }
  await set.converge()
  for (const limit of [1, 3, 1000]) {
    const lost = await pages(set, limit)
    expect(deletionsIn(lost)).toEqual(wanted.toSorted())
    expect(new Set(lost.map(({ position }) => position)).size).toBe(OTHERS + wanted.length)
  }
  // the deleted items exist again, which is why the report lists the deletions
  for (const instance of ['i-0a', 'i-0b', 'i-0c'])
    await set.at('west').ok('GET', `/auth/cloud/identity-accesslist/${instance}`)
  expect((await set.everything('east')).items).toEqual((await set.everything('west')).items)
})
