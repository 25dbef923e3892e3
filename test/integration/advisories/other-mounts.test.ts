import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { api, done, freshMount, localCertificate, tokenWith } from '../../support/service/cluster.ts'

/** A mount with a role whose tags narrow what it gives. */
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

describe('who administers one mount changes nothing of another: CVE-2023-24999, GHSA-wmg5-g953-qqfw', () => {
  let [mine, other] = ['', '']
  let token = ''
  beforeAll(async () => {
    ;[mine, other] = [await newMount(), await newMount()]
    token = await tokenWith(
      `path "${mine.slice(1)}/*" { capabilities = ["create", "read", "update", "delete", "list"] }`,
    )
  })
  const asMine = (method: string, path: string, body?: unknown) => api(method, path, body, { token })

  test('an access-list entry is deleted where it is, by the id of the instance', async () => {
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

  test('a role tag is denied where it was made, by its text', async () => {
    const CloudRole = (await done('POST', `${other}/role/web/tag`, {})).body.data.tag_value
    const instance = await launch({ tags: { CloudRole } })
    const place = `roletag-denylist/${encodeURIComponent(CloudRole)}`
    expect((await asMine('POST', `${mine}/${place}`)).status).not.toBe(403)
    expect((await asMine('POST', `${other}/${place}`)).status).toBe(403)
    expect((await api('GET', `${other}/${place}`)).status).toBe(404)
    expect((await loginAs(other, instance, { role: 'web', nonce: 'n' })).status).toBe(200)
    // and a tag of mine is none of theirs, though the roles have one name
    expect((await loginAs(mine, instance, { role: 'web', nonce: 'n' })).status).toBe(400)
  })

  test('a role, a certificate and a tidy reach no further than their mount', async () => {
    expect((await asMine('DELETE', `${mine}/role/web`)).status).toBe(204)
    expect((await asMine('DELETE', `${mine}/config/certificate/local`)).status).toBe(204)
    expect((await asMine('POST', `${mine}/tidy/identity-accesslist`, { safety_buffer: 0 })).status).toBe(202)
    expect((await done('GET', `${other}/role/web`)).body.data.token_policies).toEqual(['dev'])
    expect((await api('GET', `${other}/config/certificate/local`)).status).toBe(200)
  })
})
