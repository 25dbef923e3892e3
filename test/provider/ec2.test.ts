import { DescribeInstancesCommand, type DescribeInstancesCommandInput } from '@aws-sdk/client-ec2'
import { beforeAll, describe, expect, test } from 'vitest'
import { type RunningProvider, startProvider } from '../../infra/local/provider/provider.ts'
import { account, clientsOf, providerWithUser, region } from './clients.ts'
import { basicDate, signHeaders, type TestKey } from './hand-signer.ts'
import { send } from './send.ts'

const elsewhere = '222233334444'
const profileArn = `arn:aws:iam::${account}:instance-profile/web/front`

let provider: RunningProvider
let key: TestKey
let profileId: string
beforeAll(async () => {
  provider = await startProvider()
  const { control } = provider
  await control.putUser({ account, name: 'reader' })
  key = await control.createAccessKey({ account, user: 'reader' })
  const profile = await control.putInstanceProfile({ account, name: 'front', path: '/web/', roles: [] })
  profileId = profile.profileId
  await control.putInstance({
    account,
    region,
    instanceId: 'i-00000000000000001',
    imageId: 'ami-12345678',
    vpcId: 'vpc-1',
    subnetId: 'subnet-1',
    instanceProfileArn: profileArn,
    tags: { Name: 'a & <b>', Role: '' },
    pendingTime: '2026-03-01T10:20:30Z',
    privateIp: '10.0.0.1',
  })
  await control.putInstance({
    account,
    region,
    instanceId: 'i-00000002',
    state: 'stopped',
    vpcId: null,
    subnetId: null,
    instanceProfileArn: `arn:aws:iam::${account}:instance-profile/front`,
  })
  await control.putInstance({ account: elsewhere, region, instanceId: 'i-00000000000000003' })
  await control.putInstance({ account, region: 'us-east-1', instanceId: 'i-00000000000000004' })
  return () => provider.close()
})

const describeInstances = async (input: DescribeInstancesCommandInput) => {
  const answer = await clientsOf(provider.url, key).ec2.send(new DescribeInstancesCommand(input))
  return answer.Reservations ?? []
}
const idsOf = async (input: DescribeInstancesCommandInput) =>
  (await describeInstances(input)).flatMap(one => one.Instances ?? []).map(one => one.InstanceId)

const idFilter = (...values: string[]) => ({ Filters: [{ Name: 'instance-id', Values: values }] })

describe('DescribeInstances', () => {
  test('returns everything that the SDK reads of an instance', async () => {
    const [reservation] = await describeInstances({ InstanceIds: ['i-00000000000000001'] })
    expect(reservation).toMatchObject({ OwnerId: account, ReservationId: expect.stringMatching(/^r-/) })
    expect(reservation?.Instances).toMatchObject([
      {
        InstanceId: 'i-00000000000000001',
        ImageId: 'ami-12345678',
        State: { Code: 16, Name: 'running' },
        VpcId: 'vpc-1',
        SubnetId: 'subnet-1',
        IamInstanceProfile: { Arn: profileArn, Id: profileId },
        Tags: [
          { Key: 'Name', Value: 'a & <b>' },
          { Key: 'Role', Value: '' },
        ],
        LaunchTime: new Date('2026-03-01T10:20:30Z'),
        Placement: { AvailabilityZone: `${region}a` },
        PrivateIpAddress: '10.0.0.1',
        InstanceType: 't3.micro',
        Architecture: 'x86_64',
      },
    ])
  })

  test('omits missing fields, but keeps the ARN of a deleted profile', async () => {
    const [reservation] = await describeInstances({ InstanceIds: ['i-00000002'] })
    const [instance] = reservation?.Instances ?? []
    expect(instance).toMatchObject({
      State: { Code: 80, Name: 'stopped' },
      IamInstanceProfile: {
        Arn: `arn:aws:iam::${account}:instance-profile/front`,
        Id: expect.stringMatching(/^AIPA\w{17}$/),
      },
    })
    expect(instance?.IamInstanceProfile?.Id).not.toBe(profileId)
    expect([instance?.VpcId, instance?.SubnetId, instance?.Tags]).toEqual([undefined, undefined, []])
  })

  test.each([
    ['all instances of the account in the region', {}, ['i-00000000000000001', 'i-00000002']],
    ['MaxResults is ignored', { MaxResults: 5 }, ['i-00000000000000001', 'i-00000002']],
    ['an instance by ID', idFilter('i-00000002'), ['i-00000002']],
    ['unknown IDs in the filter are left out', idFilter('i-00000002', 'i-0000000f'), ['i-00000002']],
    ['an instance of another account is absent', idFilter('i-00000000000000003'), []],
    ['an instance of another region is absent', idFilter('i-00000000000000004'), []],
  ])('%s', async (_name, input, ids) => {
    expect(await idsOf(input)).toEqual(ids)
  })

  test.each([
    [
      'one unknown ID fails the call',
      ['i-00000002', 'i-0000000f'],
      "The instance ID 'i-0000000f' does not exist",
    ],
    ['another account', ['i-00000000000000003'], "The instance ID 'i-00000000000000003' does not exist"],
    ['another region', ['i-00000000000000004'], "The instance ID 'i-00000000000000004' does not exist"],
  ])('InvalidInstanceID.NotFound: %s', async (_name, InstanceIds, message) => {
    await expect(describeInstances({ InstanceIds })).rejects.toMatchObject({
      name: 'InvalidInstanceID.NotFound',
      message,
      $metadata: { httpStatusCode: 400 },
    })
  })

  test.each(['nonsense', 'i-', 'i-0000000G', 'i-000000000'])('InvalidInstanceID.Malformed: %s', async id => {
    await expect(describeInstances({ InstanceIds: [id] })).rejects.toMatchObject({
      name: 'InvalidInstanceID.Malformed',
    })
  })

  test('looks only in the region of the signature', async () => {
    const { ec2 } = clientsOf(provider.url, key, 'us-east-1')
    const { Reservations } = await ec2.send(new DescribeInstancesCommand({}))
    expect(Reservations?.flatMap(one => one.Instances ?? [])).toMatchObject([
      { InstanceId: 'i-00000000000000004', Placement: { AvailabilityZone: 'us-east-1a' } },
    ])
  })

  test('unknown filters and filters of more than 200 values are refused', async () => {
    const other = [{ Name: 'instance-state-name', Values: ['running'] }]
    for (const Filters of [other, [...idFilter('i-00000002').Filters, ...other]])
      await expect(describeInstances({ Filters })).rejects.toMatchObject({ name: 'InvalidParameterValue' })
    const values = Array.from({ length: 201 }, (_, n) => `i-${n}`)
    await expect(describeInstances(idFilter(...values))).rejects.toMatchObject({
      name: 'FilterLimitExceeded',
    })
    await expect(idsOf(idFilter(...values.slice(1)))).resolves.toEqual([])
  })
})

describe('errors of EC2', () => {
  const query = (region: string, body: string, secret = key.secretAccessKey) =>
    signHeaders(
      {
        method: 'POST',
        path: '/',
        query: '',
        headers: [
          ['Host', 'ec2.local'],
          ['Content-Type', 'application/x-www-form-urlencoded'],
        ],
        body,
      },
      { key: { ...key, secretAccessKey: secret }, region, service: 'ec2', date: basicDate() },
    )

  test('have code, message and request ID in EC2’s envelope', async () => {
    const body = 'Action=DescribeInstances&Version=2016-11-15&InstanceId.1=i-0000000f'
    const answer = await send(provider.url, query(region, body))
    expect(answer.headers['content-type']).toBe('text/xml;charset=UTF-8')
    expect(answer.body).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">',
        '  <Errors>',
        '    <Error>',
        '      <Code>InvalidInstanceID.NotFound</Code>',
        "      <Message>The instance ID 'i-0000000f' does not exist</Message>",
        '    </Error>',
        '  </Errors>',
        `  <RequestID>${answer.headers['x-amzn-requestid']}</RequestID>`,
        '</Response>',
        '',
      ].join('\n'),
    )
  })

  test.each([
    ['a bad secret', 'Action=DescribeInstances', 'x', 401, 'AuthFailure'],
    ['an unknown action', 'Action=RunInstances', undefined, 400, 'InvalidAction'],
  ])('%s is answered with $3 $4', async (_name, body, secret, status, code) => {
    const answer = await send(provider.url, query(region, body, secret))
    expect([answer.status, answer.body]).toEqual([status, expect.stringContaining(`<Code>${code}</Code>`)])
  })

  test('a denied caller gets UnauthorizedOperation 403 until the caller is allowed again', async () => {
    const aws = await providerWithUser()
    const { ec2 } = clientsOf(aws.url, aws.key)
    const denial = { principalArn: aws.user.arn, action: 'ec2:DescribeInstances' }
    await aws.control.deny(denial)
    await expect(ec2.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: 'UnauthorizedOperation',
      $metadata: { httpStatusCode: 403 },
    })
    await aws.control.allow(denial)
    await expect(ec2.send(new DescribeInstancesCommand({}))).resolves.toBeDefined()
  })

  test('a session of a denied role is denied too', async () => {
    const { url, control } = await providerWithUser()
    const role = await control.putRole({ account, name: 'app' })
    const { ec2 } = clientsOf(url, await control.session({ account, role: 'app', session: 'one' }))
    await control.deny({ principalArn: role.arn, action: 'ec2:*' })
    await expect(ec2.send(new DescribeInstancesCommand({}))).rejects.toMatchObject({
      name: 'UnauthorizedOperation',
    })
  })
})

describe('instances of the control API', () => {
  const name = { account, region: 'ap-south-1', instanceId: 'i-0123456789abcdef0' }

  test('defaults follow EC2’s patterns, and instances of one account and region share a VPC', async () => {
    const one = await provider.control.putInstance({ account, region: 'ap-south-2' })
    const two = await provider.control.putInstance({ account, region: 'ap-south-2' })
    expect(one).toMatchObject({
      instanceId: expect.stringMatching(/^i-[0-9a-f]{17}$/),
      imageId: expect.stringMatching(/^ami-[0-9a-f]{17}$/),
      vpcId: expect.stringMatching(/^vpc-[0-9a-f]{17}$/),
      subnetId: expect.stringMatching(/^subnet-[0-9a-f]{17}$/),
      state: 'running',
      instanceProfileArn: null,
      pendingTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect(one.instanceId).not.toBe(two.instanceId)
    expect(one.vpcId).toBe(two.vpcId)
  })

  test('set changes only the given fields, and delete removes the instance', async () => {
    const { control } = provider
    const before = await control.putInstance({ ...name, tags: { a: '1' } })
    const after = await control.setInstance({ ...name, state: 'terminated', vpcId: null })
    expect(after).toEqual({ ...before, state: 'terminated', vpcId: null })
    expect(await control.listInstances({ account, region: name.region })).toEqual([after])
    await control.deleteInstance(name)
    expect(await control.listInstances({ account, region: name.region })).toEqual([])
    await expect(control.setInstance({ ...name, state: 'running' })).rejects.toThrow('does not exist')
    await expect(control.deleteInstance(name)).rejects.toThrow('does not exist')
  })
})

describe('the events of EC2', () => {
  const name = { account, region: 'sa-east-1', instanceId: 'i-0123456789abcdef1' }
  const statesSince = async (since: number) => {
    const { events } = await provider.control.busEvents({ since })
    return events.map(({ detail }) => (detail as { state: string }).state)
  }
  const lastSeq = async () => (await provider.control.busEvents({})).last

  test('report each change of a state on the bus of the instance, unless they are lost', async () => {
    const { control } = provider
    const before = await lastSeq()
    await control.putInstance(name)
    await control.setInstance({ ...name, tags: { a: '1' } })
    await control.setInstance({ ...name, state: 'stopped' })
    await control.loseEvents({})
    await control.setInstance({ ...name, state: 'running' })
    await control.deleteInstance(name)
    expect(await statesSince(before)).toEqual(['running', 'stopped', 'terminated'])
    expect((await control.busEvents({ since: before })).events[0]).toMatchObject({
      account,
      region: name.region,
      source: 'aws.ec2',
      detailType: 'EC2 Instance State-change Notification',
      resources: [`arn:aws:ec2:${name.region}:${account}:instance/${name.instanceId}`],
      detail: { 'instance-id': name.instanceId, state: 'running' },
    })
  })

  test('cannot be put by others', async () => {
    const before = await lastSeq()
    const Detail = JSON.stringify({ 'instance-id': name.instanceId, state: 'terminated' })
    const body = JSON.stringify({
      Entries: [{ Source: 'aws.ec2', DetailType: 'EC2 Instance State-change Notification', Detail }],
    })
    const request = {
      method: 'POST',
      path: '/',
      query: '',
      headers: [
        ['Host', 'events.local'],
        ['Content-Type', 'application/x-amz-json-1.1'],
        ['X-Amz-Target', 'AWSEvents.PutEvents'],
      ],
      body,
    } as Parameters<typeof signHeaders>[0]
    const signed = signHeaders(request, { key, region, service: 'events', date: basicDate() })
    const answer = await send(provider.url, signed)
    expect(JSON.parse(answer.body)).toMatchObject({
      FailedEntryCount: 1,
      Entries: [{ ErrorCode: 'NotAuthorizedForSource' }],
    })
    expect(await lastSeq()).toBe(before)
  })
})
