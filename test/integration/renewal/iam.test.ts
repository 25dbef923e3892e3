import { beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { HOME, launch, loginWith, placeOf } from '../../support/requests/logins.ts'
import { refused, renew } from '../../support/requests/renewals.ts'
import { lives, lookUp } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { aws, done, fresh, freshMount } from '../../support/service/cluster.ts'

describe('renewing an iam token', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
  })

  const userAtHome = async () => {
    const name = fresh('user')
    const { arn } = await aws.putUser({ account: HOME.account, name })
    return { name, arn, keys: await aws.createAccessKey({ account: HOME.account, user: name }) }
  }

  test("uses the role's current TTL, maximum and period", async () => {
    const worker = await workerOn(mount, { token_ttl: '1h' })
    const auth = await worker.login()
    await worker.change({ token_ttl: '2h' })
    expect((await renew(auth)).body.auth.lease_duration).toBe(7200)
    await worker.change({ token_max_ttl: '3h' })
    expect((await renew(auth, { increment: '9h' })).body.auth.lease_duration).toBeLessThanOrEqual(10800)
    await worker.change({ token_period: '4h', token_max_ttl: 0 })
    expect((await renew(auth, { increment: 60 })).body.auth.lease_duration).toBe(4 * 3600)
    await worker.change({ token_period: 0 })
    expect((await renew(auth)).body.auth.lease_duration).toBe(7200)
  })

  test('keeps policies, CIDRs, uses and explicit maximum of the login', async () => {
    const worker = await workerOn(mount, {
      token_policies: 'dev',
      token_explicit_max_ttl: '5h',
      token_num_uses: 9,
    })
    const auth = await worker.login()
    await worker.change({
      token_policies: 'admin',
      token_explicit_max_ttl: '9h',
      token_num_uses: 3,
      token_bound_cidrs: '10.0.0.0/8',
    })
    const { body } = await renew(auth, { increment: '9h' })
    expect(body.auth).toMatchObject({ policies: ['default', 'dev'], num_uses: 9 })
    expect(body.auth.lease_duration).toBeLessThanOrEqual(5 * 3600)
    expect(await lookUp(auth.client_token)).not.toHaveProperty('bound_cidrs')
    expect(await lives(auth.client_token)).toBe(true)
  })

  test('fails when the role was deleted', async () => {
    const worker = await workerOn(mount)
    const auth = await worker.login()
    await done('DELETE', `${mount}/role/${worker.role}`)
    await refused(auth)
  })

  test('fails when the role was recreated under its name', async () => {
    const worker = await workerOn(mount)
    const auth = await worker.login()
    await done('DELETE', `${mount}/role/${worker.role}`)
    await worker.change({ bound_iam_principal_arn: worker.arn, resolve_aws_unique_ids: false })
    await refused(auth)
    expect((await renew(await worker.login())).status).toBe(200)
  })

  test('fails while the role does not bind the principal (CVE-2026-39388, GHSA-7ccv-rp6m-rffr)', async () => {
    const worker = await workerOn(mount)
    const auth = await worker.login()
    await worker.change({ bound_iam_principal_arn: worker.arn.replace('worker', 'somebody-else') })
    await refused(auth)
    await worker.change({ bound_iam_principal_arn: [worker.arn, 'arn:aws:iam::111122223333:user/x'] })
    expect((await renew(auth)).status).toBe(200)
  })

  test('fails for a recreated principal, whose unique ID differs', async () => {
    const { name, arn, keys } = await userAtHome()
    const role = fresh('role')
    await done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: arn })
    const { body } = await loginWith(mount, keys, { role })
    const auth = body.auth as ResponseAuth
    expect((await renew(auth)).status).toBe(200)
    await aws.deleteUser({ account: HOME.account, name })
    await aws.putUser({ account: HOME.account, name })
    // the role keeps the old ID until this write resolves the new one
    await done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: arn })
    await refused(auth)
  })

  test('calls IAM only for a wildcard role', async () => {
    const { name, arn, keys } = await userAtHome()
    const role = fresh('role')
    const bind = (bound: string) =>
      done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: bound, resolve_aws_unique_ids: false })
    const asked = async () =>
      (await aws.calls()).calls.filter(one => one.service === 'iam' && one.body.includes(name)).length
    await bind(arn)
    const { body } = await loginWith(mount, keys, { role })
    const auth = body.auth as ResponseAuth
    expect([(await renew(auth)).status, await asked()]).toEqual([200, 0])
    await bind(`${arn.slice(0, -4)}*`)
    expect([(await renew(auth)).status, await asked()]).toEqual([200, 1])
    await bind('arn:aws:iam::111122223333:user/nobody-of-this-name*')
    await refused(auth)
  })

  test('works without metadata in the token', async () => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/identity`, { iam_metadata: [] })
    const worker = await workerOn(path)
    const auth = await worker.login()
    expect(auth.metadata).toEqual({ role_id: expect.any(String) })
    expect((await renew(auth)).status).toBe(200)
  })

  test('does not check the server ID or other settings of the mount again', async () => {
    const { path } = await freshMount()
    const worker = await workerOn(path)
    const auth = await worker.login()
    await done('POST', `${path}/config/client`, { iam_server_id_header_value: 'login.example.com' })
    expect((await renew(auth)).status).toBe(200)
  })

  test('does not use a role of the same name in another mount', async () => {
    const [one, two] = [await freshMount(), await freshMount()]
    const worker = await workerOn(one.path)
    const auth = await worker.login()
    await done('DELETE', `${one.path}/role/${worker.role}`)
    await done('POST', `${two.path}/role/${worker.role}`, {
      bound_iam_principal_arn: worker.arn,
      resolve_aws_unique_ids: false,
    })
    await refused(auth)
  })
})

describe('renewing an iam token with an inferred instance', () => {
  const inferring = { inferred_entity_type: 'ec2_instance', inferred_aws_region: HOME.region }
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
  })

  async function inferred(given: Record<string, unknown>) {
    const instance = await launch()
    const name = fresh('node')
    const { arn } = await aws.putRole({ account: HOME.account, name })
    const role = fresh('role')
    const change = (fields: Record<string, unknown>) => done('POST', `${mount}/role/${role}`, fields)
    await change({ bound_iam_principal_arn: arn, resolve_aws_unique_ids: false, ...given })
    const keys = await aws.session({ account: HOME.account, role: name, session: instance.instanceId })
    const { body } = await loginWith(mount, keys, { role })
    return { instance, change, auth: body.auth as ResponseAuth }
  }

  test('calls EC2 once for the state of the instance', async () => {
    const { instance, auth } = await inferred(inferring)
    const { calls: before } = await aws.calls()
    expect((await renew(auth)).status).toBe(200)
    const { calls } = await aws.calls({ since: before.at(-1)?.seq ?? 0 })
    const mine = calls.filter(one => one.body.includes(instance.instanceId))
    expect(mine.map(one => one.action)).toEqual(['DescribeInstances'])
  })

  test.each(['pending', 'stopping', 'stopped', 'shutting-down', 'terminated'] as const)(
    'fails for a %s instance',
    async state => {
      const { instance, auth } = await inferred(inferring)
      await aws.setInstance({ ...placeOf(instance), state })
      await refused(auth)
    },
  )

  test('fails for an instance that EC2 no longer lists', async () => {
    const { instance, auth } = await inferred(inferring)
    await aws.deleteInstance(placeOf(instance))
    await refused(auth)
  })

  test('fails for tokens from before the role had inferencing', async () => {
    const { change, auth } = await inferred({})
    expect((await renew(auth)).status).toBe(200)
    await change(inferring)
    await refused(auth)
  })

  test('does not check other bounds again', async () => {
    const { change, auth } = await inferred(inferring)
    await change({ bound_ami_id: 'ami-0123456789abcdef0', bound_vpc_id: 'vpc-other' })
    expect((await renew(auth)).status).toBe(200)
  })
})
