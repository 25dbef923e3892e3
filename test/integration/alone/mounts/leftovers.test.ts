import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../../shared/api/call.ts'
import { createItem, putItem } from '../../../../shared/storage/changes.ts'
import { itemKindSpec, itemKinds, type Kind, key } from '../../../../shared/storage/kinds.ts'
import { HOME, launch, loginAs } from '../../../support/requests/logins.ts'
import { make } from '../../../support/requests/tokens.ts'
import { acceptTokens, tokenAccount, tokenOf } from '../../../support/requests/web-tokens.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import { clock } from '../../../support/service/clock.ts'
import {
  cluster,
  done,
  fresh,
  freshMount,
  invoke,
  localCertificate,
  settled,
} from '../../../support/service/cluster.ts'
import { everything, snapshot, tableStore } from '../../../support/tables/store.ts'

/** Kinds of items that may belong to a mount. */
const taken = (Object.keys(itemKinds) as Kind[])
  .filter(kind => itemKindSpec(kind).goesWith !== undefined)
  .sort()

/** Returns the kinds of the stored items, by key. */
async function places(): Promise<Map<string, string>> {
  const found = [...(await snapshot(cluster))].filter(([, { kind }]) => taken.includes(kind as Kind))
  return new Map(found.map(([place, { kind }]) => [place, kind]))
}

/** A policy that allows creating tokens. */
const maker = fresh('maker')

/** Uses a mount until the tables contain an item of each kind. */
async function fill(path: string, accessor: string): Promise<ResponseAuth[]> {
  await done('POST', `${path}/config/client`, { iam_server_id_header_value: '' })
  await done('POST', `${path}/config/identity`, { iam_alias: 'unique_id' })
  await done('POST', `${path}/config/review`, { track_use: true })
  await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${path}/config/sts/222222222222`, { sts_role: 'arn:aws:iam::222222222222:role/x' })
  await done('POST', `${path}/config/organization`, { max_age: '2h' })
  await settled()
  await tableStore(cluster).commit(
    createItem(key('organization-account', accessor, '222222222222'), {
      organization: 'o-a1b2c3d4e5',
      path: 'o-a1b2c3d4e5/r-ab12',
    }),
  )
  const role = { auth_type: 'ec2', bound_region: HOME.region, role_tag: 'Tag' }
  await done('POST', `${path}/role/fleet`, role)
  const { body } = await done('POST', `${path}/role/fleet/tag`, {})
  await done('POST', `${path}/roletag-denylist/${encodeURIComponent(body.data.tag_value)}`)
  for (const list of ['identity-accesslist', 'roletag-denylist']) {
    await done('POST', `${path}/config/tidy/${list}`, { safety_buffer: '1h' })
    await done('POST', `${path}/tidy/${list}`)
  }
  await invoke('on-tidy-schedule')
  await done('POST', `${path}/role/open`, {
    auth_type: 'ec2',
    bound_region: HOME.region,
    policies: maker,
    revoke_on_termination: true,
  })
  const ec2 = (await loginAs(path, await launch(), { role: 'open' })).body.auth as ResponseAuth
  await acceptTokens(path, {}, { token_policies: maker })
  const jwt = await done('POST', `${path}/login`, { jwt: await tokenOf(await tokenAccount()) }, { token: '' })
  const worker = await workerOn(path, { token_policies: maker })
  const iam = await worker.login()
  await done('POST', `${path}/login`, worker.signed(), { token: '', headers: { 'x-vault-wrap-ttl': '1h' } })
  await done('GET', `${path}/role/open`, undefined, { headers: { 'x-vault-wrap-ttl': '1h' } })
  const child = await make({}, { token: iam.client_token })
  await make({}, { token: child.client_token })
  // a rotation that died leaves its guard
  const guard = { leaseUntil: 0, makingSince: 0, owner: 'somebody' }
  await tableStore(cluster).commit(createItem(key('rotation', accessor), guard))
  // a throttled role write leaves the principals that IAM has resolved
  await tableStore(cluster).commit(
    createItem(key('resolved-principals', accessor, 'x'), { ids: {} } as never, { expires: 2_000_000_000 }),
  )
  return [ec2, iam, jwt.body.auth as ResponseAuth]
}

describe('removing a mount', () => {
  beforeAll(async () => {
    const policy = 'path "auth/token/create" { capabilities = ["update"] }'
    await done('POST', `/sys/policies/acl/${maker}`, { policy })
    await invoke('on-tidy-schedule') // writes the tidy items of other mounts before the test counts
    await settled()
  })
  afterAll(() => done('DELETE', `/sys/policies/acl/${maker}`))

  test('removes items of every kind that `goesWith` assigns to mounts, and leaves those of another mount', async () => {
    const before = await places()
    const { path, accessor } = await freshMount()
    const logins = await fill(path, accessor)
    const other = await freshMount()
    const stays = key('sts-role', other.accessor, '222222222222')
    await tableStore(cluster).commit(putItem(stays, { roleArn: 'arn:x', externalId: '' } as never))
    const filled = [...(await places())].filter(([place]) => !before.has(place))
    expect([...new Set(filled.map(([, kind]) => kind))].sort()).toEqual(taken)

    await done('DELETE', `/sys${path}`)
    await settled()
    // after 30 s no request that read the mount earlier can still write
    clock.advance(30)
    await invoke('on-job', { job: 'remove-mount', mount: accessor })
    await settled()
    clock.reset()
    expect((await everything(cluster)).filter(text => text.includes(accessor))).toEqual([])
    const after = [...(await places())].filter(([place]) => !before.has(place))
    expect(after.map(([, kind]) => kind)).toEqual(['sts-role'])
    const text = (await everything(cluster)).join()
    for (const { accessor: token, entity_id } of logins) {
      expect(text).not.toContain(token)
      expect(text).not.toContain(entity_id)
    }
    await done('DELETE', `/sys${other.path}`)
  })
})
