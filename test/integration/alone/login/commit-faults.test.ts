import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TestKey } from '../../../provider/hand-signer.ts'
import { launch, loginAs, loginWith, satellite } from '../../../support/requests/logins.ts'
import { api, aws, done, freshMount, localCertificate, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

withoutWaiting()

const accessors = async (): Promise<string[]> =>
  (await done('GET', '/auth/token/accessors?list=true')).body.data.keys

interface Strike {
  when: 'before' | 'after'
  kind: 'reset' | 'error' | 'throttle' | 'conflict'
  times?: number
}

describe('logins while the tables fail: CVE-2026-46405, GHSA-7j6w-vvw2-5f9c', () => {
  let mount = ''
  let key: TestKey
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    const account = await satellite(mount)
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_region: 'us-east-1' })
    const { arn } = await aws.putUser({ account, name: 'bob' })
    key = await aws.createAccessKey({ account, user: 'bob' })
    await done('POST', `${mount}/role/bob`, { bound_iam_principal_arn: arn })
    await loginAs(mount, await launch(), { role: 'web' })
    await loginWith(mount, key, { role: 'bob' })
  })
  beforeEach(() => storage.reset())

  type Row = [name: string, fault: Strike, status: number]
  const rows: Row[] = [
    ['the connection breaks before the write', { when: 'before', kind: 'reset' }, 200],
    ['the answer to the write is lost', { when: 'after', kind: 'reset' }, 200],
    ['the write takes effect but answers with an error', { when: 'after', kind: 'error' }, 200],
    ['another transaction conflicts twice', { when: 'before', kind: 'conflict', times: 2 }, 200],
    ['another transaction conflicts every time', { when: 'before', kind: 'conflict', times: 99 }, 503],
    ['the table throttles every time', { when: 'before', kind: 'throttle', times: 99 }, 503],
    ['the table fails every time', { when: 'before', kind: 'error', times: 99 }, 503],
    ['the connection breaks every time', { when: 'before', kind: 'reset', times: 99 }, 503],
  ]

  test.each(rows)(
    'ec2: when %s the login gets $2, and a token exists only after 200',
    async (_name, fault, status) => {
      const instance = await launch()
      const before = await accessors()
      await storage.fault({ skip: 0, operation: 'TransactWriteItems', ...fault })
      const answer = await loginAs(mount, instance, { role: 'web' })
      await storage.reset()
      expect(answer.status, answer.text).toBe(status)
      const made = (await accessors()).filter(one => !before.includes(one))
      const entry = await api('GET', `${mount}/identity-accesslist/${instance.instanceId}`)
      if (status === 200) {
        const { auth } = answer.body
        expect(made).toEqual([auth.accessor])
        expect(entry.body.data.client_nonce).toBe(auth.metadata.nonce)
      } else {
        expect([made, entry.status]).toEqual([[], 404])
        expect(answer.headers['retry-after']).toBe('1')
        expect((await loginAs(mount, instance, { role: 'web' })).status).toBe(200)
      }
    },
  )

  test.each(rows.filter(([, fault]) => fault.kind === 'reset' || fault.kind === 'error'))(
    'iam: when %s the login gets $2, and a token exists only after 200',
    async (_name, fault, status) => {
      const before = await accessors()
      await storage.fault({ skip: 0, operation: 'PutItem', ...fault })
      const answer = await loginWith(mount, key, { role: 'bob' })
      await storage.reset()
      expect(answer.status, answer.text).toBe(status)
      const made = (await accessors()).filter(one => !before.includes(one))
      expect(made).toEqual(status === 200 ? [answer.body.auth.accessor] : [])
    },
  )

  test.each<[string, Strike]>([
    ['fails', { when: 'before', kind: 'error', times: 99 }],
    ['throttles', { when: 'before', kind: 'throttle', times: 99 }],
  ])('a login gets 503 without a call to AWS when reading a table that %s', async (_name, fault) => {
    const instance = await launch()
    const before = await accessors()
    await storage.fault({ skip: 0, operation: 'BatchGetItem', ...fault })
    const { calls } = await aws.calls()
    const answers = [
      await loginAs(mount, instance, { role: 'web' }),
      await loginWith(mount, key, { role: 'bob' }),
    ]
    await storage.reset()
    expect(answers.map(one => [one.status, one.headers['retry-after']])).toEqual([
      [503, '1'],
      [503, '1'],
    ])
    const since = (await aws.calls({ since: calls.at(-1)?.seq ?? 0 })).calls
    expect(since.filter(call => call.service !== 'kms')).toEqual([])
    expect((await accessors()).filter(one => !before.includes(one))).toEqual([])
  })
})
