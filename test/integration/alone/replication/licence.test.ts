import { beforeAll, describe, expect, test } from 'vitest'
import { licenceKey, licenceText } from '../../../builders/licence.ts'
import { filled, ways } from '../../../support/requests/endpoints.ts'
import { ownHost } from '../../../support/service/own-host.ts'

const signer = licenceKey()
const licence = (text: string) => ({ LICENSE: text, LICENSE_PUBLIC_KEY: signer.publicKey })
const hosts = {
  none: licence(''),
  other: licence(licenceText(signer.privateKey, { features: ['HSM'] })),
  ended: licence(licenceText(signer.privateKey, { exp: 1_000_000_000 })),
  lasting: licence(licenceText(signer.privateKey)),
}
const licensed = ways.filter(({ endpoint }) => endpoint.licence)

describe.each(Object.keys(hosts) as (keyof typeof hosts)[])('with the licence: %s', name => {
  let host: Awaited<ReturnType<typeof ownHost>>
  beforeAll(async () => {
    host = await ownHost({ licence: hosts[name] })
  })

  test.each(licensed)('$title', async ({ endpoint, path }) => {
    const begins = ['/primary/enable', '/primary/secondary-token', '/secondary/enable'].some(one =>
      path.endsWith(one),
    )
    const absent = name === 'none' || name === 'other' || (name === 'ended' && begins)
    for (const token of [host.root_token, '']) {
      const { status, headers } = await host.api(endpoint.method, filled(path, ''), { id: '-' }, { token })
      expect([headers['x-error-code'] === 'not_licensed', status === 404]).toEqual([absent, absent])
    }
  })

  test('status and health show the licence', async () => {
    const { body } = await host.api('GET', '/sys/license/status')
    const { body: health } = await host.api('GET', '/sys/health')
    const used = name !== 'none'
    expect([body.data.autoloading_used, 'license' in health]).toEqual([used, used])
    if (used) expect(body.data.autoloaded).toMatchObject({ license_id: 'l-1', terminated: false })
    expect((await host.api('GET', '/sys/license/status', undefined, { token: '' })).status).toBe(403)
    const { body: named } = await host.api('GET', '/sys/license/features')
    expect(named.features).toEqual(named.data.features)
    expect(named.features.includes('DR Replication')).toBe(used && name !== 'other')
    expect((await host.api('GET', '/sys/license/features', undefined, { token: '' })).status).toBe(403)
  })
})
