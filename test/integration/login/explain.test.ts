import { beforeAll, describe, expect, test } from 'vitest'
import { errorCodes } from '../../../shared/api/errors.ts'
import { errorsOf, launch, signedBy } from '../../support/requests/logins.ts'
import { api, tokenWith } from '../../support/service/cluster.ts'
import { explained, fails, of } from './explained.ts'

let w: Awaited<ReturnType<typeof explained>>
beforeAll(async () => {
  w = await explained()
})

describe('explain: POST role/:role/explain', () => {
  test("for a login that would succeed the answer contains the token's settings, and nothing is written", async () => {
    const role = await w.ec2Role({ token_policies: 'dev', token_ttl: 600, token_type: 'batch' })
    const instance = await launch()
    const body = { ...(await of(instance)), nonce: 'n' }
    const told = await w.explain(role, body)
    expect(fails(told.checks)).toEqual([])
    const entry = await api('GET', `${w.mount}/identity-accesslist/${instance.instanceId}`)
    expect(entry.status).toBe(404)
    const { auth } = (await w.login(role, body)).body
    expect(told).toMatchObject({ login_would_succeed: true, auth_type: 'ec2' })
    expect(told.token).toMatchObject({
      policies: auth.policies,
      type: auth.token_type,
      ttl: auth.lease_duration,
      metadata: auth.metadata,
    })
    const iam = await w.explain(await w.iamRole(), signedBy(w.bob))
    expect(iam).toMatchObject({ login_would_succeed: true, auth_type: 'iam' })
  })

  test('the answer reports every failed rule with the value that was checked and the values that the role admits', async () => {
    const role = await w.ec2Role({ bound_ami_id: 'ami-x', bound_vpc_id: 'vpc-x' })
    const { checks } = await w.explain(role, await of(await launch({ imageId: 'ami-1', vpcId: 'vpc-1' })))
    expect(fails(checks).map(({ check, seen, wanted }) => [check, seen, wanted])).toEqual([
      ['bound_ami_id', 'ami-1', ['ami-x']],
      ['bound_vpc_id', 'vpc-1', ['vpc-x']],
    ])
  })

  test('a refused principal is shown with the principals that the role admits', async () => {
    const arn = `arn:aws:iam::${w.account}:user/alice`
    const { checks } = await w.explain(
      await w.iamRole({ bound_iam_principal_arn: arn, resolve_aws_unique_ids: false }),
      signedBy(w.bob),
    )
    expect(fails(checks)).toMatchObject([
      {
        check: 'bound_iam_principal_arn',
        seen: { arn: `arn:aws:iam::${w.account}:user/bob` },
        wanted: { arn: [arn], unique_id: [] },
      },
    ])
  })

  test('every check that compares a value has what the role admits, unless the role does not require the check', async () => {
    const role = await w.ec2Role({ role_tag: 'R', token_bound_cidrs: '0.0.0.0/0', bound_tags: { team: 'x' } })
    const { checks } = await w.explain(role, { ...(await of(await launch())), nonce: 'n' })
    for (const one of checks)
      expect('wanted' in one, one.check).toBe('seen' in one && one.verdict !== 'not required')
  })

  test('the answer lists the accepted document signatures, and whether the runtime verifies them', async () => {
    const { signatures } = await w.explain(await w.ec2Role(), {})
    const told = signatures?.map(one => [one.documents, one.accepted, one.works_on_this_runtime])
    expect(told).toEqual([
      ['rsa2048', true, true],
      ['identity and signature', false, true],
      ['pkcs7', false, true],
      ['pkcs7, in China', false, true],
    ])
    expect(await w.explain(await w.iamRole(), signedBy(w.bob))).not.toHaveProperty('signatures')
  })

  test('the answer never contains the nonce of an access-list entry', async () => {
    const [role, body] = [await w.ec2Role(), await of(await launch())]
    await w.login(role, { ...body, nonce: 'a-secret-nonce' })
    for (const nonce of [{}, { nonce: 'wrong' }, { nonce: 'a-secret-nonce' }]) {
      const reply = await api('POST', `${w.mount}/role/${role}/explain`, { ...body, ...nonce })
      expect(reply.text).not.toContain('a-secret-nonce')
    }
  })

  test('a caller without permission gets 403, also for missing roles', async () => {
    const role = await w.ec2Role()
    const body = await of(await launch())
    const name = w.mount.slice(1)
    const tokens = [
      '',
      'hvs.unknown',
      await tokenWith(`path "${name}/login" { capabilities = ["update"] }`),
      await tokenWith(`path "${name}/role/*" { capabilities = ["read", "create", "list"] }`),
    ]
    for (const token of tokens) {
      for (const path of [`${w.mount}/role/${role}`, `${w.mount}/role/none`, '/auth/none/role/none']) {
        const reply = await api('POST', `${path}/explain`, body, { token })
        const { permission_denied: may, invalid_token: none } = errorCodes
        expect([reply.status, errorsOf(reply)]).toEqual([403, (token === 'hvs.unknown' ? none : may).always])
      }
    }
    const allowed = await tokenWith(`path "${name}/role/+/explain" { capabilities = ["update"] }`)
    expect((await api('POST', `${w.mount}/role/${role}/explain`, body, { token: allowed })).status).toBe(200)
    expect((await api('POST', `${w.mount}/role/none/explain`, body, { token: allowed })).status).toBe(404)
    expect((await api('GET', `${w.mount}/role/${role}`, undefined, { token: allowed })).status).toBe(403)
  })
})
