import { DescribeInstancesCommand } from '@aws-sdk/client-ec2'
import { CreateAccessKeyCommand, GetUserCommand, ListAccessKeysCommand } from '@aws-sdk/client-iam'
import { DecryptCommand } from '@aws-sdk/client-kms'
import { AssumeRoleCommand, GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, test, vi } from 'vitest'
import { account, clientsOf, nowOf, providerWithUser, region } from './clients.ts'
import { basicDate, callerIdentityPost, presign, signHeaders } from './hand-signer.ts'
import { element, send } from './send.ts'

const whoAmI = () => new GetCallerIdentityCommand()

async function aws() {
  const made = await providerWithUser()
  return { ...made, ...clientsOf(made.url, made.key) }
}

describe('faults that a test injects into the imitated AWS', () => {
  test('hit `times` calls after `skip` calls, and then no more', async () => {
    const { control, sts } = await aws()
    await control.fault({ service: 'sts', kind: 'error', skip: 1, times: 2 })
    const outcomes: boolean[] = []
    for (let n = 0; n < 5; n++) outcomes.push(await sts.send(whoAmI()).then(Boolean, () => false))
    expect(outcomes).toEqual([true, false, false, true, true])
  })

  test('are matched by service, action and account', async () => {
    const { control, sts, iam, url } = await aws()
    await control.putUser({ account: '222233334444', name: 'eve' })
    const eve = clientsOf(url, await control.createAccessKey({ account: '222233334444', user: 'eve' }))
    await control.fault({ service: 'sts', action: 'AssumeRole', kind: 'error' })
    await control.fault({ account: '222233334444', kind: 'error' })
    await expect(sts.send(whoAmI())).resolves.toBeDefined()
    await expect(iam.send(new GetUserCommand({}))).resolves.toBeDefined()
    await expect(eve.sts.send(whoAmI())).rejects.toMatchObject({ name: 'InternalFailure' })
    await expect(eve.sts.send(whoAmI())).resolves.toBeDefined()
    const order = { RoleArn: `arn:aws:iam::${account}:role/x`, RoleSessionName: 'xx' }
    await expect(sts.send(new AssumeRoleCommand(order))).rejects.toMatchObject({ name: 'InternalFailure' })
    await expect(sts.send(new AssumeRoleCommand(order))).rejects.toMatchObject({ name: 'AccessDenied' })
  })

  test('before the effect of a call: the call has no effect', async () => {
    const { control, iam } = await aws()
    await control.fault({ service: 'iam', action: 'CreateAccessKey', kind: 'error' })
    await expect(iam.send(new CreateAccessKeyCommand({}))).rejects.toMatchObject({ name: 'InternalFailure' })
    expect((await iam.send(new ListAccessKeysCommand({}))).AccessKeyMetadata).toHaveLength(1)
  })

  test('after the effect of a call: the call has its effect and only its answer is lost (CreateAccessKey of a rotation)', async () => {
    const { control, iam } = await aws()
    await control.fault({ service: 'iam', action: 'CreateAccessKey', kind: 'reset', when: 'after' })
    await expect(iam.send(new CreateAccessKeyCommand({}))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect((await iam.send(new ListAccessKeysCommand({}))).AccessKeyMetadata).toHaveLength(2)
  })

  test('throttling uses the error of each service', async () => {
    const { control, sts, ec2, kms } = await aws()
    await control.fault({ kind: 'throttle', times: 3 })
    const failures = [
      sts.send(whoAmI()),
      ec2.send(new DescribeInstancesCommand({})),
      kms.send(new DecryptCommand({ CiphertextBlob: Buffer.from('x') })),
    ].map(failed => failed.catch(error => [error.name, error.$metadata.httpStatusCode]))
    expect(await Promise.all(failures)).toEqual([
      ['Throttling', 400],
      ['RequestLimitExceeded', 503],
      ['ThrottlingException', 400],
    ])
  })

  test('an error has the given status and code', async () => {
    const { control, ec2 } = await aws()
    await control.fault({ kind: 'error', status: 503, code: 'Unavailable' })
    await expect(ec2.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: 'Unavailable',
      $metadata: { httpStatusCode: 503 },
    })
  })

  test('a delay holds the answer back and changes nothing', async () => {
    const { control, sts } = await aws()
    await control.fault({ kind: 'delay', delayMs: 120 })
    const start = performance.now()
    await expect(sts.send(whoAmI())).resolves.toMatchObject({ Account: account })
    expect(performance.now() - start).toBeGreaterThan(115)
  })

  test('a held call waits until control releases the call or clears all faults', async () => {
    const { control, sts } = await aws()
    for (const release of [control.release, () => control.clearFaults()]) {
      const { id } = await control.fault({ kind: 'hold' })
      expect(await control.held({ id })).toEqual({ calls: 0 })
      let answered = false
      const answer = sts.send(whoAmI()).finally(() => {
        answered = true
      })
      await vi.waitUntil(async () => (await control.held({ id })).calls === 1, { timeout: 10_000 })
      await control.calls()
      expect(answered).toBe(false)
      await release({ id })
      await expect(answer).resolves.toMatchObject({ Account: account })
    }
  })

  test('a raw answer is sent unchanged, also to an unsigned request (CVE-2020-16250)', async () => {
    const { control, url } = await aws()
    const answer = { status: 302, contentType: 'text/html', body: 'junk<GetCallerIdentityResponse>' }
    await control.fault({ service: 'sts', kind: 'answer', answer })
    const received = await send(url, callerIdentityPost('sts.amazonaws.com'))
    expect([received.status, received.headers['content-type'], received.body]).toEqual(Object.values(answer))
  })

  test('are removed by clearFaults', async () => {
    const { control, sts } = await aws()
    const { id } = await control.fault({ kind: 'error', times: 99 })
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    await control.clearFaults()
    await expect(sts.send(whoAmI())).resolves.toBeDefined()
  })

  test('hit the metadata service too', async () => {
    const { control } = await aws()
    const { instanceId } = await control.putInstance({ account, region })
    const { url } = await control.metadataPort({ account, region, instanceId })
    await control.fault({ service: 'imds', kind: 'error' })
    const token = `${url}/latest/api/token`
    const ask = () =>
      fetch(token, { method: 'PUT', headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '9' } })
    expect([(await ask()).status, (await ask()).status]).toEqual([500, 200])
  })
})

describe('limits', () => {
  test('have a bucket for each account and region, which refills with time', async () => {
    const { control, ec2, url, key } = await aws()
    await control.limit({ service: 'ec2', action: 'DescribeInstances', perSecond: 2, burst: 3 })
    const burst = async (client = ec2) => {
      const tries = Array.from({ length: 6 }, () => client.send(new DescribeInstancesCommand({})))
      const settled = await Promise.allSettled(tries)
      return settled.filter(one => one.status === 'fulfilled').length
    }
    expect(await burst()).toBe(3)
    expect(await burst(clientsOf(url, key, 'us-east-1').ec2)).toBe(3)
    await control.advance({ seconds: 1 })
    expect(await burst()).toBe(2)
    await control.advance({ seconds: 100 })
    expect(await burst()).toBe(3)
    await control.clearLimits()
    expect(await burst()).toBe(6)
  })

  test('refuse with the throttling error of each service', async () => {
    const { control, ec2, iam, sts } = await aws()
    await control.limit({ service: 'ec2', action: 'DescribeInstances', perSecond: 0, burst: 0 })
    await control.limit({ service: 'sts', action: 'GetCallerIdentity', perSecond: 0, burst: 0 })
    await control.limit({ service: 'sts', action: 'GetUser', perSecond: 0, burst: 0 })
    await expect(iam.send(new GetUserCommand({}))).resolves.toBeDefined()
    await expect(ec2.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: 'RequestLimitExceeded',
      $metadata: { httpStatusCode: 503 },
    })
    await expect(sts.send(whoAmI())).rejects.toMatchObject({ name: 'Throttling' })
  })
})

describe('the call log', () => {
  test('has caller, action, headers, body and status of each call', async () => {
    const { control, sts, user, key, url } = await aws()
    await sts.send(whoAmI())
    const forged = clientsOf(url, { ...key, secretAccessKey: 'x' }).sts
    await forged.send(whoAmI()).catch(() => undefined)
    const { calls } = await control.calls()
    expect(calls).toMatchObject([
      {
        service: 'sts',
        action: 'GetCallerIdentity',
        account,
        region,
        principalArn: user.arn,
        status: 200,
        query: '',
        body: 'Action=GetCallerIdentity&Version=2011-06-15',
      },
      { service: 'sts', account, principalArn: null, status: 403 },
    ])
    expect(calls[0]?.headers).toMatchObject({ host: new URL(url).host, 'x-amz-date': expect.any(String) })
    expect(Date.parse(calls[0]?.at ?? '')).toBe(await nowOf({ control }))
  })

  test('lists calls after a number, and reuses no number after a reset', async () => {
    const { control, sts, iam } = await aws()
    await sts.send(whoAmI())
    const [first] = (await control.calls()).calls
    await iam.send(new GetUserCommand({}))
    const since = first?.seq ?? 0
    expect((await control.calls({ since })).calls.map(call => call.action)).toEqual(['GetUser'])
    await control.resetCalls()
    expect((await control.calls()).calls).toEqual([])
    await sts.send(whoAmI())
    expect((await control.calls()).calls[0]?.seq).toBe(since + 2)
  })

  test('has status 0 for a call without an answer', async () => {
    const { control, sts } = await aws()
    await control.fault({ kind: 'reset' })
    await sts.send(whoAmI()).catch(() => undefined)
    expect((await control.calls()).calls).toMatchObject([{ status: 0 }])
  })

  test('keeps a presigned query as sent', async () => {
    const { control, url, key } = await aws()
    const unsigned = { method: 'GET', path: '/', headers: [['Host', 'a.b'] as [string, string]], body: '' }
    const query = 'Action=GetCallerIdentity&Version=2011-06-15'
    const request = presign({ ...unsigned, query }, { key, region, service: 'sts', date: basicDate() })
    await send(url, request)
    expect((await control.calls()).calls).toMatchObject([{ query: request.query, body: '', status: 200 }])
  })
})

describe('the clock of the provider', () => {
  test('expires signatures: a captured request is refused after 15 minutes', async () => {
    const { control, url, key } = await aws()
    const request = signHeaders(callerIdentityPost('sts.amazonaws.com'), {
      key,
      region: 'us-east-1',
      service: 'sts',
      date: basicDate(await nowOf({ control })),
    })
    expect((await send(url, request)).status).toBe(200)
    await control.advance({ seconds: 899 })
    expect((await send(url, request)).status).toBe(200)
    await control.advance({ seconds: 2 })
    const late = await send(url, request)
    expect([late.status, element(late.body, 'Code')]).toEqual([403, 'SignatureDoesNotMatch'])
    await control.advance({ seconds: -901 - 302 })
    expect(element((await send(url, request)).body, 'Message')).toMatch(/^Signature not yet current: /)
  })

  test('is in the date header, so that clients can correct their clocks', async () => {
    const { control, url } = await aws()
    const { now } = await control.advance({ seconds: 7200 })
    const { headers } = await send(url, callerIdentityPost('x'))
    expect(headers['date']).toBe(new Date(now).toUTCString())
  })
})
