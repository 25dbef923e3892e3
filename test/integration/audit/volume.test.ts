import { expect, test } from 'vitest'
import { launch, loginAs } from '../../support/requests/logins.ts'
import { auditOf } from '../../support/service/audit.ts'
import { done, freshMount, localCertificate } from '../../support/service/cluster.ts'

/** Returns the bytes of all audit entries of logins at a mount. */
const bytesAt = (mount: string): number =>
  auditOf(`${mount}/login`).reduce((sum, entry) => sum + Buffer.byteLength(JSON.stringify(entry)), 0)

test('two audit entries of a login have the size that docs/look-up/costs.md states', async () => {
  const { path: mount } = await freshMount()
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  const instance = await launch()
  const bound = { auth_type: 'ec2', bound_account_id: instance.account, token_policies: ['reader'] }
  await done('POST', `${mount}/role/web`, bound)
  await done('POST', `${mount}/role/other`, { ...bound, bound_account_id: '999999999999' })
  expect((await loginAs(mount, instance, { role: 'other' })).status).toBe(400)
  const refused = bytesAt(mount)
  expect(refused).toBeGreaterThan(700)
  expect(refused).toBeLessThan(1300)
  expect((await loginAs(mount, instance, { role: 'web' })).status).toBe(200)
  expect(bytesAt(mount) - refused).toBeGreaterThan(1200)
  expect(bytesAt(mount) - refused).toBeLessThan(2000)
})
