import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { api, done, freshMount, localCertificate, tokenWith } from '../../support/service/cluster.ts'

/** Returns a new mount with a role that accepts role tags. */
async function newMount(): Promise<string> {
  const { path } = await freshMount()
  await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${path}/role/web`, {
    auth_type: 'ec2',
    bound_account_id: HOME.account,
    role_tag: 'CloudRole',
    token_policies: 'dev',
  })
  return path
}

describe('a token with rights on one mount changes nothing in another mount: CVE-2023-24999, GHSA-wmg5-g953-qqfw', () => {
  let [mine, other] = ['', '']
  let token = ''
  beforeAll(async () => {
    ;[mine, other] = [await newMount(), await newMount()]
    token = await tokenWith(
      `path "${mine.slice(1)}/*" { capabilities = ["create", "read", "update", "delete", "list"] }`,
    )
  })
  const asMine = (method: string, path: string, body?: unknown) => api(method, path, body, { token })

  test('deleting an access-list entry by instance ID leaves the entry of the same instance in another mount', async () => {
    const CloudRole = (await done('POST', `${other}/role/web/tag`, {})).body.data.tag_value
    const instance = await launch({ tags: { CloudRole } })
    expect((await loginAs(other, instance, { role: 'web', nonce: 'of the other' })).status).toBe(200)
    const place = `identity-accesslist/${instance.instanceId}`
    expect((await asMine('GET', `${mine}/${place}`)).status).toBe(404)
    expect((await asMine('DELETE', `${mine}/${place}`)).status).toBe(204)
    expect((await asMine('DELETE', `${other}/${place}`)).status).toBe(403)
    expect((await done('GET', `${other}/${place}`)).body.data.client_nonce).toBe('of the other')
    const stranger = await loginAs(other, instance, { role: 'web', nonce: 'of a stranger' })
    expect([stranger.status, errorsOf(stranger)]).toEqual([400, 'nonce does not match'])
  })

  test('denying a role tag in one mount leaves the tag valid in the mount that created the tag', async () => {
    const CloudRole = (await done('POST', `${other}/role/web/tag`, {})).body.data.tag_value
    const instance = await launch({ tags: { CloudRole } })
    const place = `roletag-denylist/${encodeURIComponent(CloudRole)}`
    expect((await asMine('POST', `${mine}/${place}`)).status).not.toBe(403)
    expect((await asMine('POST', `${other}/${place}`)).status).toBe(403)
    expect((await api('GET', `${other}/${place}`)).status).toBe(404)
    expect((await loginAs(other, instance, { role: 'web', nonce: 'n' })).status).toBe(200)
    // a tag created by the other mount is not valid here, although both roles have the same name
    expect((await loginAs(mine, instance, { role: 'web', nonce: 'n' })).status).toBe(400)
  })

  test('deleting a role or a certificate, and tidying, leave other mounts unchanged', async () => {
    expect((await asMine('DELETE', `${mine}/role/web`)).status).toBe(204)
    expect((await asMine('DELETE', `${mine}/config/certificate/local`)).status).toBe(204)
    expect((await asMine('POST', `${mine}/tidy/identity-accesslist`, { safety_buffer: 0 })).status).toBe(202)
    expect((await done('GET', `${other}/role/web`)).body.data.token_policies).toEqual(['dev'])
    expect((await api('GET', `${other}/config/certificate/local`)).status).toBe(200)
  })
})
