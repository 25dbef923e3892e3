import { afterEach, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { HOME, launch, loginAs } from '../../../support/requests/logins.ts'
import { clock } from '../../../support/service/clock.ts'
import {
  api,
  cluster,
  done,
  freshMount,
  invoke,
  localCertificate,
  settled,
  storage,
} from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { raw, snapshot, tableStore } from '../../../support/tables/store.ts'

withoutWaiting()

// One commit disables a mount, and a job then removes the mount's items. The job may die at any call to the
// tables, and the hourly schedule starts the job again. A token of a removed mount is invalid.

afterEach(async () => {
  clock.reset()
  await storage.reset()
})

const tables = tableStore(cluster)

/** Creates a mount with one item of every kind. */
async function lived() {
  const { path, accessor } = await freshMount()
  await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${path}/config/client`, { max_retries: 1 })
  await done('POST', `${path}/config/identity`, { ec2_alias: 'instance_id' })
  await done('POST', `${path}/config/sts/222233334444`, {
    sts_role: 'arn:aws:iam::222233334444:role/cloud-auth-x',
  })
  await done('POST', `${path}/config/tidy/roletag-denylist`, { safety_buffer: 60 })
  await done('POST', `${path}/role/web`, {
    auth_type: 'ec2',
    bound_account_id: HOME.account,
    role_tag: 'Tag',
  })
  const tag = (await done('POST', `${path}/role/web/tag`)).body.data.tag_value
  await done('POST', `${path}/roletag-denylist/${encodeURIComponent(tag)}`)
  await done('POST', `${path}/role/plain`, { auth_type: 'ec2', bound_account_id: HOME.account })
  const { auth } = (await loginAs(path, await launch(), { role: 'plain' })).body
  return { path, accessor, token: auth.client_token as string, entity: auth.entity_id as string }
}

type Lived = Awaited<ReturnType<typeof lived>>

const lives = async (token: string) =>
  (await api('GET', '/auth/token/lookup-self', undefined, { token })).status === 200

async function isGone({ accessor, token, entity }: Lived, where: string): Promise<void> {
  await settled()
  // after 30 s no request that read the mount earlier can still write
  clock.advance(30)
  await invoke('on-tidy-schedule')
  await settled()
  const [mounts] = await tables.store.read([key('mounts')])
  expect(
    mounts?.data.removing.filter(mount => mount.accessor === accessor),
    where,
  ).toEqual([])
  const places = [...(await snapshot(cluster)).keys()]
  expect(
    places.filter(place => place.includes(accessor)),
    where,
  ).toEqual([])
  expect(await raw(cluster, key('entity', entity)), where).toBeUndefined()
  expect(await lives(token), where).toBe(false)
}

describe('disabling a mount', () => {
  test("removes all items of the mount, and invalidates the mount's tokens at once", async () => {
    const mount = await lived()
    await settled()
    await storage.fault({ kind: 'hold', operation: 'Query', skip: 0 })
    expect((await api('DELETE', `/sys${mount.path}`)).status).toBe(204)
    await storage.held()
    expect(await lives(mount.token), 'while its items stand').toBe(false)
    await storage.mend()
    await isGone(mount, 'undisturbed')
  })

  test.each([
    { skip: 0, when: 'before' },
    { skip: 1, when: 'before' },
    { skip: 2, when: 'before' },
    { skip: 2, when: 'after' },
  ] as const)(
    'takes effect completely or not at all when the request is cut at call $skip, $when that call takes effect',
    async cut => {
      const mount = await lived()
      await settled()
      // loads the mounts into the cache, so that the request reads only their revision
      await done('GET', '/sys/auth')
      await storage.reset()
      await storage.fault({ kind: 'reset', whole: true, ...cut })
      const reply = await api('DELETE', `/sys${mount.path}`)
      await storage.reset()
      expect(reply.status, reply.text).toBe(503)
      const stands = (await api('GET', `/sys${mount.path}`)).status === 200
      expect(stands).toBe(cut.when === 'before')
      expect(await lives(mount.token)).toBe(stands)
      expect((await api('DELETE', `/sys${mount.path}`)).status).toBe(204)
      await invoke('on-tidy-schedule')
      await isGone(mount, JSON.stringify(cut))
    },
  )

  test.each([4, 9, 22, 41, 57, 63, 66])(
    'ends with all items removed when the removal job dies at call %i',
    async skip => {
      const mount = await lived()
      await settled()
      await storage.reset()
      await storage.fault({ kind: 'reset', when: 'before', skip, times: 999 })
      expect((await api('DELETE', `/sys${mount.path}`)).status).toBe(204)
      await settled()
      const struck = (await storage.calls()).filter(call => call.struck)
      expect(struck.length, 'it is tried three times').toBeGreaterThanOrEqual(3)
      await storage.reset()
      await invoke('on-tidy-schedule')
      await isGone(mount, `call ${skip}`)
    },
  )
})
