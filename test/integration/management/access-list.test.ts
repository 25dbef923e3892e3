import { beforeAll, describe, expect, test } from 'vitest'
import { HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { api, done, freshMount, localCertificate } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
})

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

describe.each(['identity-accesslist', 'identity-whitelist'])('an entry of %s', list => {
  test('can be read, listed and deleted after its instance has logged in', async () => {
    const instance = await launch()
    const place = `${mount}/${list}/${instance.instanceId}`
    expect((await api('GET', place)).body).toEqual({ errors: [] })
    const login = await loginAs(mount, instance, { role: 'WEB' })
    const { data } = (await done('GET', place)).body
    expect(data).toEqual({
      client_nonce: login.body.auth.metadata.nonce,
      creation_time: expect.stringMatching(TIME),
      disallow_reauthentication: false,
      expiration_time: expect.stringMatching(TIME),
      last_updated_time: data.creation_time,
      pending_time: instance.pendingTime,
      role: 'web',
    })
    expect((await done('LIST', `${mount}/${list}`)).body.data.keys).toContain(instance.instanceId)
    for (let times = 0; times < 2; times++) expect((await api('DELETE', place)).status).toBe(204)
    expect((await api('GET', place)).status).toBe(404)
    expect((await loginAs(mount, instance, { role: 'web' })).status).toBe(200)
  })

  test('of a login with an empty nonce disallows reauthentication and has an empty nonce', async () => {
    const instance = await launch()
    await loginAs(mount, instance, { role: 'web', nonce: '' })
    expect((await done('GET', `${mount}/${list}/${instance.instanceId}`)).body.data).toMatchObject({
      client_nonce: '',
      disallow_reauthentication: true,
    })
  })

  test('cannot be written by clients, and its name is case-sensitive', async () => {
    const instance = await launch()
    await loginAs(mount, instance, { role: 'web' })
    for (const method of ['POST', 'PUT'])
      expect((await api(method, `${mount}/${list}/${instance.instanceId}`, {})).status).toBe(405)
    expect((await api('GET', `${mount}/${list}/${instance.instanceId.toUpperCase()}`)).status).toBe(404)
    expect((await api('GET', `${mount}/${list}/a%20b`)).status).toBe(404)
  })

  test('an empty list answers 404, and a listing accepts after and limit', async () => {
    const { path } = await freshMount()
    expect((await api('LIST', `${path}/${list}`)).body).toEqual({ errors: [] })
    const { keys } = (await done('LIST', `${mount}/${list}`)).body.data
    expect(keys).toEqual([...keys].sort())
    const part = await api('LIST', `${mount}/${list}?after=${keys[0]}&limit=1`)
    expect(part.body.data?.keys ?? []).toEqual(keys.slice(1, 2))
  })
})

describe('deprecated paths use the same items', () => {
  test.each([
    ['identity-accesslist', 'identity-whitelist'],
    ['roletag-denylist', 'roletag-blacklist'],
  ])('config/tidy/%s and config/tidy/%s', async (current, former) => {
    const [now, once] = [`${mount}/config/tidy/${current}`, `${mount}/config/tidy/${former}`]
    await done('POST', once, { safety_buffer: '1h' })
    expect((await done('GET', now)).body.data).toEqual({ safety_buffer: 3600, disable_periodic_tidy: false })
    await done('POST', now, { disable_periodic_tidy: true })
    expect((await done('GET', once)).body.data).toEqual({ safety_buffer: 3600, disable_periodic_tidy: true })
    await done('DELETE', once)
    expect((await api('GET', now)).status).toBe(404)
    await done('POST', once)
    expect((await done('GET', now)).body.data).toEqual({
      safety_buffer: 259_200,
      disable_periodic_tidy: false,
    })
    for (const path of [current, former]) {
      expect([200, 202]).toContain((await api('PUT', `${mount}/tidy/${path}`, { safety_buffer: 0 })).status)
      expect((await api('POST', `${mount}/tidy/${path}`, { safety_buffer: -1 })).status).toBe(400)
    }
  })
})
