import { beforeAll, describe, expect, test } from 'vitest'
import { HOME, launch, loginAs } from '../../support/requests/logins.ts'
import { api, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

const ways: Record<string, (name: string) => string> = {
  'one directory up': name => `../${name}`,
  'many directories up': name => `../../../../${name}`,
  'from the current directory': name => `./${name}`,
  'through an existing policy': name => `default/../${name}`,
  'through a missing policy': name => `x/../${name}`,
  'through root': name => `root/../${name}`,
  'with a leading slash': name => `/${name}`,
  'with a trailing slash': name => `${name}/`,
  'with a trailing dot': name => `${name}/.`,
  'with a double slash': name => `x//${name}`,
  'with backslashes': name => `..\\${name}`,
  'percent-encoded': name => `%2e%2e/${name}`,
  'percent-encoded with the slash': name => `..%2f${name}`,
  'with its API path': name => `sys/policies/acl/${name}`,
}

describe('a policy name is never resolved as a path: CVE-2026-105820, CVE-2026-115365, GHSA-mjch-vcw3-hhmf', () => {
  const strong = fresh('strong-')
  const probe = '/sys/policies/acl'
  let mount = ''
  const isStrong = async (token: string): Promise<boolean> => {
    // loads the strong policy into the cache
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

  // The API may reject the name. If the API accepts it, the name refers to a policy that does not exist.
  const rows = Object.entries(ways).flatMap(([title, way]) =>
    [strong, 'root'].map(target => [title, way(target)] as const),
  )
  test.each(rows)(
    'a token created with the policy name spelled %s does not get that policy: %s',
    async (_title, name) => {
      const { status, body } = await api('POST', '/auth/token/create', { policies: [name] })
      expect([200, 400]).toContain(status)
      if (status === 200) expect(await isStrong(body.auth.client_token)).toBe(false)
    },
  )

  test.each(rows)(
    'a login by a role, or an entity, with the policy name spelled %s does not get that policy: %s',
    async (_title, name) => {
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
    },
  )

  test.each(Object.entries(ways))(
    'writing or reading a policy whose name is spelled %s is rejected',
    async (_title, way) => {
      for (const path of [`/sys/policies/acl/${way(strong)}`, `/sys/policy/${way(strong)}`]) {
        const policy = 'path "*" { capabilities = ["sudo", "read"] }'
        const reply = await api('POST', path, { policy })
        expect([400, 404, 405], reply.text).toContain(reply.status)
        expect((await api('GET', path)).text).not.toContain('capabilities')
      }
      const { body } = await done('GET', `/sys/policies/acl/${strong}`)
      expect(body.data.policy).toContain('"list"')
    },
  )
})
