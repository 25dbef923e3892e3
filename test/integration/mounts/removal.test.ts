import { describe, expect, test } from 'vitest'
import { HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { lives } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { api, done, freshMount, localCertificate, settled } from '../../support/service/cluster.ts'

const accessors = async (): Promise<string[]> =>
  (await done('GET', '/auth/token/accessors?list=true')).body.data.keys

/** Creates a mount with items of every kind. */
async function fullMount() {
  const { path, accessor } = await freshMount()
  await done('POST', `${path}/config/client`, { iam_server_id_header_value: '' })
  await done('POST', `${path}/config/identity`, { iam_alias: 'unique_id' })
  await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${path}/config/sts/222222222222`, { sts_role: 'arn:aws:iam::222222222222:role/x' })
  for (const list of ['identity-accesslist', 'roletag-denylist'])
    await done('POST', `${path}/config/tidy/${list}`, { safety_buffer: '1h' })
  await done('POST', `${path}/role/fleet`, { auth_type: 'ec2', bound_region: HOME.region, role_tag: 'Tag' })
  const { body } = await done('POST', `${path}/role/fleet/tag`, {})
  await done('POST', `${path}/roletag-denylist/${encodeURIComponent(body.data.tag_value)}`)
  await done('POST', `${path}/role/open`, { auth_type: 'ec2', bound_region: HOME.region })
  const worker = await workerOn(path)
  const instance = await launch()
  const logins = [(await loginAs(path, instance, { role: 'open' })).body.auth, await worker.login()]
  return { path, accessor, worker, instance, logins }
}

const readable = (path: string, instanceId: string) =>
  [
    [`${path}/config/client`, 404],
    [`${path}/config/identity`, 200],
    [`${path}/config/certificate/local`, 404],
    [`${path}/config/certificates?list=true`, 404],
    [`${path}/config/sts/222222222222`, 404],
    [`${path}/config/sts?list=true`, 404],
    [`${path}/config/tidy/identity-accesslist`, 404],
    [`${path}/config/tidy/roletag-denylist`, 404],
    [`${path}/role/fleet`, 404],
    [`${path}/roles?list=true`, 404],
    [`${path}/roletag-denylist?list=true`, 404],
    [`${path}/identity-accesslist/${instanceId}`, 404],
    [`${path}/identity-accesslist?list=true`, 404],
  ] as const

describe('disabling a mount: CVE-2020-7220, GHSA-vv66-6rp4-wr4f, CVE-2026-42186', () => {
  test('invalidates its tokens and paths at once, and removes its items afterwards', async () => {
    const { path, logins, worker } = await fullMount()
    const { status, text } = await done('DELETE', `/sys${path}`)
    expect([status, text]).toEqual([204, ''])
    for (const { client_token: token, accessor } of logins) {
      expect(await lives(token)).toBe(false)
      expect((await api('POST', '/auth/token/lookup', { token })).status).toBe(403)
      expect((await api('POST', '/auth/token/renew', { token })).status).toBe(400)
      expect((await api('POST', '/auth/token/lookup-accessor', { accessor })).status).toBe(400)
    }
    expect((await worker.tryLogin()).status).toBe(400)
    expect((await api('GET', `${path}/roles?list=true`)).status).toBe(404)
    expect((await api('GET', `${path}/roles?list=true`, undefined, { token: '' })).status).toBe(403)
    const listed = await accessors()
    for (const { accessor } of logins) expect(listed).not.toContain(accessor)
    await settled()
    for (const { entity_id: id } of logins)
      expect((await api('GET', `/identity/entity/id/${id}`)).status).toBe(404)
  })

  test('a new mount at the same path has no items of the old mount, even immediately', async () => {
    const { path, accessor, instance, logins, worker } = await fullMount()
    for (const [place] of readable(path, instance.instanceId))
      expect((await api('GET', place)).status, place).toBe(200)
    await done('DELETE', `/sys${path}`)
    await done('POST', `/sys${path}`, { type: 'cloud' })
    const { body } = await done('GET', `/sys${path}`)
    expect(body.data.accessor).not.toBe(accessor)
    for (const [place, status] of readable(path, instance.instanceId))
      expect((await api('GET', place)).status, place).toBe(status)
    const identity = await done('GET', `${path}/config/identity`)
    expect(identity.body.data).toMatchObject({ iam_alias: 'role_id' })
    for (const { client_token: token } of logins) expect(await lives(token)).toBe(false)
    expect((await worker.tryLogin()).status).toBe(400)
  })

  test('roles, caches and logins of one mount do not affect another', async () => {
    const [one, two] = [await freshMount(), await freshMount()]
    const worker = await workerOn(one.path, { token_policies: 'of-one' })
    const first = await worker.login()
    await done('POST', `${two.path}/role/${worker.role}`, {
      bound_iam_principal_arn: worker.arn.replace('worker', 'somebody-else'),
      resolve_aws_unique_ids: false,
      token_policies: 'of-two',
    })
    const there = await api('POST', `${two.path}/login`, worker.signed(), { token: '' })
    expect([there.status, there.body.auth]).toEqual([400, undefined])
    const again = await worker.login()
    expect([again.policies, again.entity_id]).toEqual([first.policies, first.entity_id])
    await done('DELETE', `/sys${two.path}`)
    expect(await lives(again.client_token)).toBe(true)
  })
})
