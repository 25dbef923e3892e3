import { beforeAll, describe, expect, test } from 'vitest'
import { HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { api, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

const ways: Record<string, (name: string) => string> = {
  'one up': name => `../${name}`,
  'many up': name => `../../../../${name}`,
  'from here': name => `./${name}`,
  'through another': name => `default/../${name}`,
  'through one that is not there': name => `x/../${name}`,
  'out of root': name => `root/../${name}`,
  'from the top': name => `/${name}`,
  'with a slash': name => `${name}/`,
  'to itself': name => `${name}/.`,
  'with two slashes': name => `x//${name}`,
  'by backslashes': name => `..\\${name}`,
  'percent-encoded': name => `%2e%2e/${name}`,
  'percent-encoded, the slash too': name => `..%2f${name}`,
  'by its path': name => `sys/policies/acl/${name}`,
}

describe('the name of a policy is no path: CVE-2026-105820, CVE-2026-115365, GHSA-mjch-vcw3-hhmf', () => {
  const strong = fresh('strong-')
  const probe = '/sys/policies/acl'
  let mount = ''
  const isStrong = async (token: string): Promise<boolean> => {
    // whatever is remembered of the policy is warm
    expect((await api('LIST', probe, undefined, { token: real })).status).toBe(200)
    return (await api('LIST', probe, undefined, { token })).status === 200
  }
  let real = ''

  beforeAll(async () => {
    await done('POST', `/sys/policies/acl/${strong}`, {
      policy: 'path "sys/policies/acl" { capabilities = ["list"] }',
    })
    real = (await done('POST', '/auth/token/create', { policies: [strong] })).body.auth.client_token
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  })

  // it may be refused; where it is not, it is the name of a policy that nobody wrote
  const rows = Object.entries(ways).flatMap(([title, way]) =>
    [strong, 'root'].map(target => [title, way(target)] as const),
  )
  test.each(rows)('a token of %s: %s', async (_title, name) => {
    const { status, body } = await api('POST', '/auth/token/create', { policies: [name] })
    expect([200, 400]).toContain(status)
    if (status === 200) expect(await isStrong(body.auth.client_token)).toBe(false)
  })

  test.each(rows)('a login by a role of %s: %s', async (_title, name) => {
    const role = fresh('r')
    const bound = { auth_type: 'ec2', bound_account_id: HOME.account }
    const written = await api('POST', `${mount}/role/${role}`, { ...bound, token_policies: [name] })
    expect([204, 400]).toContain(written.status)
    if (written.status === 400) return
    const { status, body } = await loginAs(mount, await launch(), { role })
    expect(status).toBe(200)
    expect(await isStrong(body.auth.client_token)).toBe(false)
    const entity = `/identity/entity/id/${body.auth.entity_id}`
    const given = await api('POST', entity, { policies: [name] })
    expect([200, 204, 400]).toContain(given.status)
    expect(await isStrong(body.auth.client_token), 'by the entity').toBe(false)
  })

  test.each(Object.entries(ways))('none is written or read %s', async (_title, way) => {
    for (const path of [`/sys/policies/acl/${way(strong)}`, `/sys/policy/${way(strong)}`]) {
      const policy = 'path "*" { capabilities = ["sudo", "read"] }'
      const reply = await api('POST', path, { policy })
      expect([400, 404, 405], reply.text).toContain(reply.status)
      expect((await api('GET', path)).text).not.toContain('capabilities')
    }
    const { body } = await done('GET', `/sys/policies/acl/${strong}`)
    expect(body.data.policy).toContain('"list"')
  })
})
