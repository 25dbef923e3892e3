import { beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { errorsOf, HOME, launch, loginAs, loginWith, satellite } from '../../support/requests/logins.ts'
import { renew } from '../../support/requests/renewals.ts'
import { whileHeld } from '../../support/requests/while-held.ts'
import { api, aws, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
})

/** Creates a principal of an account that only this test looks up. */
async function principalIn(account: string, name = fresh('app')) {
  const { roleId } = await aws.putRole({ account, name })
  return { arn: `arn:aws:iam::${account}:role/${name}`, id: roleId, name }
}

const lookUpOf = (account: string) => ({ service: 'iam', action: 'GetRole', account }) as const

describe.concurrent('a role write that conflicts with another write resolves the principals of the role again', () => {
  /** Turns on ID resolution of a role that binds `old`, while another client changes the role. */
  async function switchedWhile(change: (path: string, other: string) => Promise<unknown>) {
    const account = await satellite(mount)
    const [old, other] = [await principalIn(account), await principalIn(account)]
    const role = fresh('r')
    const path = `${mount}/role/${role}`
    await done('POST', path, { bound_iam_principal_arn: old.arn, resolve_aws_unique_ids: false })
    const reply = await whileHeld(
      lookUpOf(account),
      () => api('POST', path, { resolve_aws_unique_ids: true }),
      () => change(path, other.arn),
    )
    const { data } = (await done('GET', path)).body
    return { account, role, reply, old, other, data }
  }

  test('when another client has bound another principal, that principal can log in and the former principal cannot', async () => {
    const { account, role, reply, old, other, data } = await switchedWhile((path, arn) =>
      done('POST', path, { bound_iam_principal_arn: arn }),
    )
    expect(reply.status, reply.text).toBe(204)
    expect(data).toMatchObject({ bound_iam_principal_arn: [other.arn], bound_iam_principal_id: [other.id] })
    const login = async ({ name }: { name: string }) => {
      const keys = await aws.session({ account, role: name, session: 'session' })
      return (await loginWith(mount, keys, { role })).status
    }
    expect([await login(old), await login(other)]).toEqual([400, 200])
  })

  test('when the STS role of the account was deleted, the role write is rejected', async () => {
    const { account, reply, data } = await switchedWhile(async path => {
      const stored = (await done('GET', path)).body.data.bound_iam_principal_arn[0]
      await done('DELETE', `${mount}/config/sts/${stored.split(':')[4]}`)
      await done('POST', path, { token_ttl: 77 })
    })
    expect([reply.status, errorsOf(reply)]).toEqual([
      400,
      expect.stringContaining(`no STS role is configured for account ${account}`),
    ])
    expect(data).toMatchObject({ resolve_aws_unique_ids: false, token_ttl: 77 })
  })
})

describe.concurrent("a token renewal that conflicts with another write calls AWS with the mount's current configuration", () => {
  /** Renews a token while another renewal succeeds and the account's STS role is deleted. */
  const renewedWhile = async (held: Parameters<typeof whileHeld>[0], auth: ResponseAuth) =>
    whileHeld(
      held,
      () => renew(auth),
      async () => {
        expect((await renew(auth)).status).toBe(200)
        await done('DELETE', `${mount}/config/sts/${held.account}`)
      },
    )

  test('for the instance of an ec2 login', async () => {
    const account = await satellite(mount)
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, { auth_type: 'ec2', bound_account_id: account })
    const instance = await launch({ account })
    const { body } = await loginAs(mount, instance, { role, nonce: 'n' })
    const held = { service: 'ec2', action: 'DescribeInstances', account } as const
    const reply = await renewedWhile(held, body.auth)
    expect([reply.status, errorsOf(reply)]).toEqual([400, `no STS role is configured for account ${account}`])
  })

  test('for the instance that an iam login inferred', async () => {
    const account = await satellite(mount)
    const instance = await launch({ account })
    const { arn, name } = await principalIn(account)
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, {
      bound_iam_principal_arn: arn,
      resolve_aws_unique_ids: false,
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: HOME.region,
    })
    const keys = await aws.session({ account, role: name, session: instance.instanceId })
    const { body } = await loginWith(mount, keys, { role })
    const held = { service: 'ec2', action: 'DescribeInstances', account } as const
    const reply = await renewedWhile(held, body.auth)
    expect([reply.status, errorsOf(reply)]).toEqual([400, `no STS role is configured for account ${account}`])
  })

  test('for the principal of a wildcard role', async () => {
    const account = await satellite(mount)
    const { arn, name } = await principalIn(account)
    const role = fresh('r')
    const bind = (bound: string) =>
      done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: bound, resolve_aws_unique_ids: false })
    // a login without ID resolution makes no look-up, so the principal's path is not in the cache
    await bind(arn)
    const { body } = await loginWith(mount, await aws.session({ account, role: name, session: 's-1' }), {
      role,
    })
    await bind(`${arn.slice(0, -1)}*`)
    const reply = await renewedWhile(lookUpOf(account), body.auth)
    expect([reply.status, errorsOf(reply)]).toEqual([403, 'permission denied'])
  })
})
