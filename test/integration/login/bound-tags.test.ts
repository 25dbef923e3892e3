import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginWith, placeOf } from '../../support/requests/logins.ts'
import { aws, done } from '../../support/service/cluster.ts'
import { explained, fails, of } from './explained.ts'

const bound_tags = { Env: ['prod', 'stage*'], Team: '*' }

describe('roles that bind instance tags', () => {
  let w: Awaited<ReturnType<typeof explained>>
  beforeAll(async () => {
    w = await explained()
  })

  const cases: [name: string, tags: Record<string, string>, admitted: boolean][] = [
    ['each key has an allowed value', { Env: 'prod', Team: 'web', Other: 'x' }, true],
    ['a value matches a wildcard', { Env: 'stage-2', Team: '' }, true],
    ['a value is not allowed', { Env: 'dev', Team: 'web' }, false],
    ['a key is missing', { Env: 'prod' }, false],
    ['there are no tags', {}, false],
  ]

  test.each(cases)('ec2 login when %s: admitted $2', async (_, tags, admitted) => {
    const instance = await launch({ tags })
    const role = await w.ec2Role({ bound_tags })
    const body = await of(instance)
    const report = await w.explain(role, body)
    expect(report.login_would_succeed).toBe(admitted)
    const seen = { Env: tags['Env'] ?? null, Team: tags['Team'] ?? null }
    expect(report.checks.find(one => one.check === 'bound_tags')).toMatchObject({
      verdict: admitted ? 'pass' : 'fail',
      seen,
    })
    expect(fails(report.checks).map(one => one.check)).toEqual(admitted ? [] : ['bound_tags'])
    const login = await w.login(role, { ...body, nonce: 'n' })
    expect(login.status, login.text).toBe(admitted ? 200 : 400)
    if (!admitted) expect(errorsOf(login)).toBe(`instance does not satisfy role "${role}": bound_tags`)
  })

  test.each(cases)('iam login that infers the instance, when %s: admitted $2', async (_, tags, admitted) => {
    await aws.putRole({ account: w.account, name: 'app' })
    const instance = await launch({ account: w.account, tags })
    const role = await w.roleWith({
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: HOME.region,
      bound_tags,
    })
    const session = await aws.session({ account: w.account, role: 'app', session: instance.instanceId })
    const login = await loginWith(w.mount, session, { role })
    expect(login.status, login.text).toBe(admitted ? 200 : 400)
  })

  test('an empty bound value matches only an empty tag', async () => {
    const role = await w.ec2Role({ bound_tags: { Env: [''] } })
    const answers = await Promise.all(
      [{ Env: '' }, { Env: 'prod' }, {}].map(async tags => {
        const login = await w.login(role, { ...(await of(await launch({ tags }))), nonce: 'n' })
        return login.status
      }),
    )
    expect(answers).toEqual([200, 400, 400])
  })

  test('a login checks the current tags, and an empty bound_tags removes the constraint', async () => {
    const instance = await launch({ tags: { Env: 'dev', Team: 'web' } })
    const role = await w.ec2Role({ bound_tags })
    const login = async () => (await w.login(role, { ...(await of(instance)), nonce: 'n' })).status
    expect(await login()).toBe(400)
    await aws.setInstance({ ...placeOf(instance), tags: { Env: 'prod', Team: 'web' } })
    expect(await login()).toBe(200)
    await aws.setInstance({ ...placeOf(instance), tags: {} })
    expect(await login()).toBe(400)
    await done('POST', `${w.mount}/role/${role}`, { bound_tags: {} })
    expect(await login()).toBe(200)
    expect((await done('GET', `${w.mount}/role/${role}`)).body.data.bound_tags).toEqual({})
  })
})
