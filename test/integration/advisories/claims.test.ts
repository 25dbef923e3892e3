import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs, loginWith } from '../../support/requests/logins.ts'
import { aws, done, freshAccount, freshMount, localCertificate } from '../../support/service/cluster.ts'

/** Values that satisfy the bounds of the roles below, under names that a forged request might use. */
const claims = {
  account_id: '111111111111',
  accountId: '111111111111',
  account: '111111111111',
  region: 'eu-west-1',
  ami_id: 'ami-1',
  imageId: 'ami-1',
  vpc_id: 'vpc-1',
  subnet_id: 'subnet-1',
  instance_id: 'i-1',
  ec2_instance_id: 'i-1',
  iam_role_arn: 'arn:aws:iam::111111111111:role/app',
  arn: 'arn:aws:iam::111111111111:role/app',
  user_id: 'AIDA',
  client_arn: 'x',
  tags: { team: 'a' },
  vm_name: 'i-1',
  vmss_name: 'i-1',
  resource_group_name: 'a',
  resource_id: 'i-1',
}

describe('role bounds are checked against the proof, never against fields of the request: CVE-2025-3879, HCSEC-2025-07, GHSA-f9ch-h8j7-8jwg', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  })

  test.each([
    ['bound_account_id', '111111111111'],
    ['bound_region', 'eu-west-1'],
    ['bound_ami_id', 'ami-1'],
    ['bound_vpc_id', 'vpc-1'],
    ['bound_subnet_id', 'subnet-1'],
    ['bound_ec2_instance_id', 'i-1'],
    ['bound_tags', { team: 'a' }],
  ])(
    'ec2 role: a login request with the field %s is rejected like a login request without that field',
    async (field, value) => {
      const role = field.replaceAll('_', '-')
      await done('POST', `${mount}/role/${role}`, { auth_type: 'ec2', [field]: value })
      const instance = await launch()
      const [plain, claiming] = [
        await loginAs(mount, instance, { role }),
        await loginAs(mount, instance, { role, ...claims, [field]: value }),
      ]
      expect([plain.status, claiming.status]).toEqual([400, 400])
      expect(errorsOf(claiming)).toBe(errorsOf(plain))
    },
  )

  test('iam role: a forged bound_iam_principal_arn does not change which role the caller may use', async () => {
    const account = freshAccount()
    const { arn } = await aws.putUser({ account, name: 'bob' })
    const key = await aws.createAccessKey({ account, user: 'bob' })
    const bound_iam_principal_arn = `arn:aws:iam::${HOME.account}:user/alice`
    const unresolved = { resolve_aws_unique_ids: false }
    await done('POST', `${mount}/role/alice`, { bound_iam_principal_arn, ...unresolved })
    await done('POST', `${mount}/role/bob`, { bound_iam_principal_arn: arn, ...unresolved })
    const forged = { ...claims, arn: bound_iam_principal_arn, bound_iam_principal_arn }
    expect((await loginWith(mount, key, { role: 'alice', ...forged })).status).toBe(400)
    const { body } = await loginWith(mount, key, { role: 'bob', ...forged })
    expect(body.auth.metadata).toMatchObject({ account_id: account })
  })
})
