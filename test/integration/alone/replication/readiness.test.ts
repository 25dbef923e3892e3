import { beforeAll, describe, expect, test } from 'vitest'
import { LINK_FORMAT } from '../../../../shared/link/source.ts'
import { type Change, putItem, removeItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { type promotions, readyToPromote } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const DR = '/sys/replication/dr'

let set: ClusterSet
let promote: ReturnType<typeof promotions>['promote']
let write: ReturnType<typeof promotions>['write']

beforeAll(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.at('east').ok('POST', '/auth/cloud/config/client', { sts_region: 'eu-west-1' })
  ;({ promote, write } = await readyToPromote(set))
})

const readiness = async (more: object = {}) =>
  (
    await set
      .at('west')
      .ok('POST', `${DR}/secondary/readiness`, { dr_operation_token: OPERATION_TOKEN, ...more })
  ).body.data

const ofPrimary = async (token?: string) =>
  (await set.at('east').ok('GET', `${DR}/readiness`, undefined, token ? { token } : {})).body.data

/** Returns all items of the tables, by cluster. */
const items = async () =>
  Object.fromEntries(
    (await set.snapshot()).members.map(({ name, items: held }) => [
      name,
      Object.values(held)
        .flat()
        .map(item => JSON.stringify(item))
        .sort(),
    ]),
  )

describe('readiness of a healthy pair', () => {
  test('on the secondary: the answer says that the secondary can take over, and lists every step', async () => {
    const shown = await readiness()
    expect(shown).toMatchObject({
      mode: 'secondary',
      ready: true,
      promotion: { goes_through: true, refused: '', warnings: [] },
      keyring: { opens: true, failed: [] },
      recovery: { shares: 5, threshold: 3 },
      versions: { version: '1.0.0', format: LINK_FORMAT, primary_format: LINK_FORMAT },
      tree: { corrupted: false, reindexing: false },
      lag: { primary: 'answers', behind_ms: 0, last_contact_age_ms: 0, clock_skew_ms: 0 },
      operation_token: {
        generated: { age_seconds: expect.any(Number) },
        presented: { counts: true, expires: '' },
      },
    })
    expect(shown.checks.every(({ passes }: { passes: boolean }) => passes)).toBe(true)
    expect(shown.promotion.steps.map(({ step }: { step: string }) => step)).toEqual([
      'verify',
      'handover',
      'drain',
      'claim',
      'open',
      'serve',
    ])
    expect(shown.region).toMatchObject({
      own: 'us-east-1',
      settings: [{ path: 'auth/cloud/config/client', field: 'sts_region', elsewhere: true }],
    })
    const { last } = await set.at('west').head()
    expect(shown.lag).toMatchObject({ applied: last, primary_position: last })
    expect(shown.lag.history.at(-1)).toEqual({ time: expect.any(String), age_ms: expect.any(Number) })
  })

  test('may be read with an authorised token of the set, and with no other', async () => {
    const west = set.at('west')
    expect((await west.ok('GET', `${DR}/readiness`)).body.data).toMatchObject({
      ready: true,
      operation_token: { presented: { counts: false, why: 'the token is no batch token' } },
    })
    expect((await west.request('GET', `${DR}/readiness`, undefined, { token: 'hvs.none' })).status).toBe(403)
    expect((await west.request('POST', `${DR}/secondary/readiness`, {})).status).toBe(400)
    const wrong = await west.request('POST', `${DR}/secondary/readiness`, { dr_operation_token: 'hvs.none' })
    expect(wrong.status).toBe(403)
    const elsewhere = await set.at('east').request('POST', `${DR}/secondary/readiness`, {})
    expect([elsewhere.status, elsewhere.text]).toEqual([400, expect.stringContaining('not a DR secondary')])
  })

  test('on the primary: lists possible successors, and judges the presented token', async () => {
    const east = set.at('east')
    expect(await ofPrimary()).toMatchObject({
      mode: 'primary',
      ready: true,
      secondaries: [{ id: 'west', takes_over: true, activation_token: { used: true } }],
      operation_token: { generated: null, presented: { counts: false }, roles: [], policies: [] },
    })
    const policy = `path "sys/replication/dr/*" { capabilities = ["update", "read", "sudo"] }`
    await east.ok('POST', '/sys/policies/acl/failover', { policy })
    await east.ok('POST', '/auth/token/roles/failover', {
      allowed_policies: 'failover',
      orphan: true,
      renewable: false,
      token_type: 'batch',
    })
    const { body } = await east.ok('POST', '/auth/token/create/failover', { ttl: '8h' })
    const { operation_token: shown } = await ofPrimary(body.auth.client_token)
    expect(shown).toMatchObject({ roles: ['failover'], policies: ['failover'], presented: { counts: true } })
    expect(shown.presented.seconds_left).toBeGreaterThan(8 * 3600 - 60)
    await set.converge()
    const onSecondary = await readiness({ dr_operation_token: body.auth.client_token })
    expect(onSecondary.operation_token.presented.expires).toBe(shown.presented.expires)
  })

  test('writes nothing on the cluster, and its primary stores a heartbeat', async () => {
    const before = await items()
    await readiness()
    await set.at('west').ok('GET', `${DR}/readiness`)
    const after = await items()
    expect(after['west']).toEqual(before['west'])
    const changed = after['east']?.filter(one => !before['east']?.includes(one)) ?? []
    // also ignores the journal entry that a heartbeat causes in an idle journal
    const heartbeat = /"pk":\{"S":"(secondary|journal|j#[^"]*)"/
    expect(changed.filter(one => !heartbeat.test(one))).toEqual([])
    await ofPrimary()
    expect((await items())['east']).toEqual(after['east'])
  })
})

/** Causes an obstacle to a promotion; returns a function that removes the obstacle. */
const obstacles: Readonly<Record<string, () => Promise<() => unknown>>> = {
  'a tree found corrupted': () =>
    stored(treeId => putItem(key('tree-check'), { treeId, operation: 'x', startedAt: 1, corrupted: true })),
  'a reindex': () =>
    stored(treeId =>
      putItem(key('tree-reindex'), {
        treeId,
        operation: 'x',
        startedAt: 1,
        stage: 'building',
        done: 1,
        total: 512,
      }),
    ),
  'journal entries that cannot be applied': () =>
    stored(() =>
      putItem(key('puller'), {
        runId: 'x',
        until: 0,
        state: 'idle',
        fault: 'policy p is not as it should be',
      }),
    ),
  'a primary that fell silent': async () => {
    set.cut('east', 'west')
    return () => set.heal('east', 'west')
  },
  'a change of the role that is under way': async () => {
    const { ports } = set.at('west')
    const change = async (operation: string | undefined) => {
      const [item] = await ports.store.read([key('cluster')])
      if (!item) throw new Error('there is no record')
      const { operation: _, ...record } = item.data
      const next = operation === undefined ? record : { ...record, operation }
      await ports.store.commit([replaceItem(item, item, next)], {
        record: item.data,
        readAt: ports.clock.now(),
      })
    }
    await change('another')
    return () => change(undefined)
  },
}

/** Stores an item on west. @returns a function that deletes the item */
async function stored(item: (treeId: string) => Change): Promise<() => Promise<unknown>> {
  const { ports, record } = set.at('west')
  const { treeId = '', ...rest } = await record()
  const as = { record: { ...rest, treeId }, readAt: ports.clock.now() }
  const change = item(treeId)
  await ports.store.commit([change], as)
  return async () => ports.store.commit([removeItem(change.key)], { ...as, readAt: ports.clock.now() })
}

const withoutTimes = (text: string): string => text.replace(/\d+ s ago/g, 'n s ago')

describe('an obstacle', () => {
  test.each(Object.keys(obstacles))('%s is reported with the text of the refused promotion', async name => {
    const undo = await obstacles[name]?.()
    const shown = await readiness()
    const reply = await promote('west')
    await undo?.()
    expect(shown).toMatchObject({ ready: false, promotion: { goes_through: false } })
    expect(reply.status).toBe(503)
    expect(withoutTimes(reply.text)).toContain(withoutTimes(shown.promotion.refused))
    const [row, ...others] = shown.checks.filter(({ passes }: { passes: boolean }) => !passes)
    expect(others).toEqual([])
    expect(shown.promotion.refused).toContain(row.text)
    expect(shown.promotion_with_force.goes_through).toBe(row.overridden_by_force)
  })

  test('a lost primary: readiness predicts the result of the promotion', async () => {
    await write('east', 'last')
    await set.converge()
    set.cut('east', 'west')
    await set.passAsking(61_000)
    const shown = await readiness()
    expect(shown).toMatchObject({ ready: true, lag: { primary: 'silent' } })
    expect(shown.lag.last_contact_age_ms).toBeGreaterThan(60_000)
    expect(shown.promotion.warnings).toEqual([
      expect.stringContaining('does not answer'),
      expect.stringContaining('revocations and retirements'),
    ])
    const does = Object.fromEntries(
      shown.promotion.steps.map(({ step, does: text }: { step: string; does: string }) => [step, text]),
    )
    expect(does['handover']).toContain('skipped')
    expect((await promote('west')).status).toBe(200)
    expect(does['claim']).toContain((await set.at('west').record()).epoch)
    set.mend()
    const after = (await set.at('west').ok('GET', `${DR}/readiness`)).body.data
    expect(after).toMatchObject({ mode: 'primary', ready: false })
    expect(after.checks.filter(({ passes }: { passes: boolean }) => !passes)).toMatchObject([
      { name: 'secondaries', text: 'this cluster knows no secondary' },
    ])
  })

  test('a cluster without replication has no readiness', async () => {
    const alone = await clusterSet(['alone'], { memory: true })
    const reply = await alone.at('alone').request('GET', `${DR}/readiness`)
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('in no DR set')])
  })
})

describe('if KMS cannot unwrap the keyring', () => {
  let closed: ClusterSet
  beforeAll(async () => {
    closed = await clusterSet(['east', 'west'], { memory: true })
    await readyToPromote(closed)
    for (const { kms, newMemory } of closed.members) {
      kms.setEnabled(false)
      newMemory()
    }
  })
  const wanted = {
    passes: false,
    text: expect.stringMatching(/keyring does not open \(KMS.*KMS key is enabled/),
  }

  test('primary and secondary return readiness to holders of a generated or stored token: the row names KMS and the remedy', async () => {
    const token = closed.at('east').token()
    const west = closed.at('west')
    const answers = [
      await closed.at('east').ok('GET', `${DR}/readiness`, undefined, { token }),
      await west.ok('GET', `${DR}/readiness`, undefined, { token }),
      await west.ok('POST', `${DR}/secondary/readiness`, { dr_operation_token: OPERATION_TOKEN }),
    ]
    for (const { body } of answers) {
      expect(body.data).toMatchObject({ ready: false, keyring: { opens: false } })
      const row = body.data.checks.find(({ name }: { name: string }) => name === 'keyring')
      expect(row).toMatchObject(wanted)
    }
    // all other endpoints fail without KMS
    expect((await west.request('POST', `${DR}/secondary/promote`, { dr_operation_token: 'x' })).status).toBe(
      503,
    )
  })

  test('the audit log contains the requests without secrets', () => {
    for (const { audited, token } of closed.members) {
      const entries = audited.filter(({ request }) =>
        (request as { path?: string } | undefined)?.path?.endsWith('readiness'),
      )
      expect(entries.length).toBeGreaterThan(1)
      const text = JSON.stringify(entries)
      expect(text).toContain('not shown: the keyring does not open')
      expect([text.includes(OPERATION_TOKEN), text.includes(token())]).toEqual([false, false])
    }
  })
})
