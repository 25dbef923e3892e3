import { expect, test } from 'vitest'
import { errorsOf, launch, pkcs7Of, placeOf, satellite } from '../../support/requests/logins.ts'
import {
  api,
  aws,
  done,
  freshInstanceId,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

test('concurrent logins share DescribeInstances calls, and each gets its own result', async () => {
  const { path: mount } = await freshMount()
  const account = await satellite(mount)
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_account_id: account })
  const launched = () => launch({ account, instanceId: freshInstanceId() })
  const [gone, stopped] = [await launched(), await launched()]
  const running = await Promise.all(Array.from({ length: 10 }, launched))
  const documents = await Promise.all([gone, stopped, ...running].map(pkcs7Of))
  await aws.deleteInstance(gone)
  await aws.setInstance({ ...placeOf(stopped), state: 'stopped' })
  await aws.fault({ service: 'ec2', account, kind: 'delay', delayMs: 300, times: 20 })
  const replies = await Promise.all(
    documents.map(pkcs7 => api('POST', `${mount}/login`, { role: 'web', pkcs7 }, { token: '' })),
  )
  expect(replies.map(({ status }) => status)).toEqual([400, 400, ...running.map(() => 200)])
  expect(replies.slice(0, 2).map(errorsOf)).toEqual([
    expect.stringContaining('EC2 knows no such instance'),
    expect.stringContaining('the instance is not running'),
  ])
  const { keys } = (await done('GET', `${mount}/identity-accesslist?list=true`)).body.data
  expect(keys).toEqual(running.map(({ instanceId }) => instanceId).toSorted())
  const { calls } = await aws.calls()
  const described = calls.filter(call => call.service === 'ec2' && call.account === account)
  expect(described.length).toBeLessThan(documents.length)
})
