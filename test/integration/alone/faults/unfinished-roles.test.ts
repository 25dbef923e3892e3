import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { satellite } from '../../../support/requests/logins.ts'
import { clock } from '../../../support/service/clock.ts'
import { api, aws, done, fresh, freshMount } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

withoutWaiting()

// A role may have more principals than IAM resolves during one request.

const ALL = 160
let mount = ''
let account = ''
let arns: string[] = []
let ids: string[] = []
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/config/client`, { max_retries: 0 })
  account = await satellite(mount)
  const made = []
  for (let at = 0; at < ALL; at++) made.push(await aws.putRole({ account, name: `app-${at}` }))
  arns = made.map(({ arn }) => arn)
  ids = made.map(({ roleId }) => roleId)
})
afterEach(async () => {
  clock.reset()
  await aws.clearLimits()
})

/** Lets IAM answer `burst` role look-ups from now on, and throttle all others. */
const allow = (burst: number) => aws.limit({ service: 'iam', action: 'GetRole', perSecond: 0, burst })

/** Counts the role look-ups that reach IAM during some work. */
async function lookUpsDuring(work: () => Promise<unknown>): Promise<number> {
  const since = (await aws.calls()).calls.at(-1)?.seq ?? 0
  await work()
  const { calls } = await aws.calls({ since })
  return calls.filter(({ action }) => action === 'GetRole').length
}

const body = (more = {}) => ({ bound_iam_principal_arn: arns, ...more })

/** Writes a role whose first write resolves 97 principals, and returns its path. */
async function unfinished(): Promise<string> {
  const path = `${mount}/role/${fresh('r')}`
  await allow(97)
  const reply = await api('POST', path, body())
  expect([reply.status, reply.headers['retry-after'], reply.body.errors]).toEqual([
    503,
    '1',
    [
      'bound_iam_principal_arn: IAM is throttling requests: 97 of 160 resolved; repeat this request within ten minutes to resolve the rest',
    ],
  ])
  expect((await api('GET', path)).status).toBe(404)
  return path
}

const idsIn = async (path: string) => (await done('GET', path)).body.data.bound_iam_principal_id

describe('writing a role with more principals than IAM resolves in one request', () => {
  test('a repeated write resolves only the principals that are still unresolved', async () => {
    const path = await unfinished()
    await allow(ALL - 97)
    expect(await lookUpsDuring(() => done('POST', path, body()))).toBe(ALL - 97)
    expect(await idsIn(path)).toEqual(ids)
  })

  test('each repeated write resolves more principals, until all are resolved', async () => {
    const path = await unfinished()
    await allow(20)
    const reply = await api('POST', path, body())
    expect(reply.body.errors[0]).toContain('117 of 160 resolved')
    await aws.clearLimits()
    expect(await lookUpsDuring(() => done('POST', path, body()))).toBe(43)
    expect(await idsIn(path)).toEqual(ids)
  })

  test('a write after the role was stored resolves all principals again, so a recreated principal gets its new unique ID', async () => {
    const path = await unfinished()
    await aws.clearLimits()
    await done('POST', path, body())
    await aws.deleteRole({ account, name: 'app-0' })
    const { roleId } = await aws.putRole({ account, name: 'app-0' })
    ids = [roleId, ...ids.slice(1)]
    expect(await lookUpsDuring(() => done('POST', path, body()))).toBe(ALL)
    expect(await idsIn(path)).toEqual(ids)
  })

  test.each<[string, (path: string) => Promise<unknown>]>([
    ['with another body', path => done('POST', path, body({ token_ttl: 60 }))],
    ['for another role', () => done('POST', `${mount}/role/${fresh('r')}`, body())],
    [
      'after a new client configuration',
      async path => {
        await done('POST', `${mount}/config/client`, { max_retries: 0 })
        await done('POST', path, body())
      },
    ],
    [
      'after a new STS role',
      async path => {
        const { data } = (await done('GET', `${mount}/config/sts/${account}`)).body
        await done('POST', `${mount}/config/sts/${account}`, data)
        await done('POST', path, body())
      },
    ],
    [
      'ten minutes later',
      async path => {
        clock.advance(601)
        await done('POST', path, body())
      },
    ],
  ])('a write %s resolves all principals', async (_, write) => {
    const path = await unfinished()
    await aws.clearLimits()
    expect(await lookUpsDuring(() => write(path))).toBe(ALL)
  })

  test('a write with a missing principal does not keep the IDs of the other principals', async () => {
    const path = `${mount}/role/${fresh('r')}`
    const wrong = { bound_iam_principal_arn: [...arns.slice(0, 5), `arn:aws:iam::${account}:role/none`] }
    const refused = async () => expect((await api('POST', path, wrong)).status).toBe(400)
    await refused()
    expect(await lookUpsDuring(refused)).toBe(6)
  })
})
