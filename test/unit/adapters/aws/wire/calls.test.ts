import { DescribeInstancesCommand, EC2Client, type Instance as Ec2Instance } from '@aws-sdk/client-ec2'
import {
  GetInstanceProfileCommand,
  GetRoleCommand,
  GetUserCommand,
  IAMClient,
  type IAMClientResolvedConfig,
} from '@aws-sdk/client-iam'
import { DecryptCommand, GenerateDataKeyCommand, KMSClient } from '@aws-sdk/client-kms'
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { describeByIds } from '../../../../../shared/adapters/aws/describe-instances.ts'
import { lazyKms } from '../../../../../shared/adapters/aws/kms.ts'
import { iamPrincipals } from '../../../../../shared/adapters/aws/principals.ts'
import type { Provider } from '../../../../../shared/adapters/aws/provider.ts'
import { accountOf, sessionOf } from '../../../../../shared/adapters/aws/sessions.ts'
import { wire } from '../../../../../shared/adapters/aws/wire/post.ts'
import type { AwsTarget } from '../../../../../shared/ports.ts'
import { sized } from '../../../../support/runner/size.ts'

// Calls to EC2, IAM, STS and KMS: sent as the SDK sends them, and read as it reads what they answer.

const MUTATED = sized(150, 1000)
const GENERATED = sized(40, 400)
const REGION = 'eu-west-1'
const credentials = { accessKeyId: 'AK', secretAccessKey: 'secret' }
const settings = { region: REGION, maxAttempts: 1, credentials }
const keys = async () => credentials

/** What both are answered, and what they have sent. */
const state = { status: 200, text: '', sent: [] as object[] }
const told = (host: string, path: string, headers: Record<string, string>, body: string) => {
  const { 'content-type': type, 'x-amz-target': target } = headers
  // members of JSON may come in any order
  state.sent.push({ host, path, type, target, body: target ? JSON.parse(body) : body })
}

interface Sent {
  hostname: string
  path: string
  headers: Record<string, string>
  body: string | Uint8Array
}
const handler = {
  handle: async ({ hostname, path, headers, body }: Sent) => {
    told(hostname, path, headers, typeof body === 'string' ? body : new TextDecoder().decode(body))
    const { status: statusCode, text } = state
    return { response: { statusCode, headers: {}, body: Buffer.from(text) } }
  },
} as never as IAMClientResolvedConfig['requestHandler']
const sdk = { ...settings, requestHandler: handler }
const clients = {
  ec2: new EC2Client(sdk),
  iam: new IAMClient(sdk),
  kms: new KMSClient(sdk),
  sts: new STSClient(sdk),
}

beforeEach(() => {
  vi.stubEnv('AWS_REGION', REGION)
  vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey)
  for (const service of ['EC2', 'IAM', 'KMS', 'STS']) vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, '')
  vi.spyOn(Math, 'random').mockReturnValue(0)
  vi.spyOn(wire, 'post').mockImplementation(async ({ host, path }, headers, body) => {
    told(host, path, headers, body)
    return { status: state.status, headers: {}, body: Buffer.from(state.text) }
  })
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const meter = { count: () => undefined, measured: () => Promise.reject(new Error('not used')) }
const clock = { now: () => Date.now(), sleep: async () => undefined }
const client = { version: 'v', maxRetries: 0, endpoint: '', iamEndpoint: '', stsEndpoint: '', stsRegion: '' }
const target: AwsTarget = { account: '111122223333', region: REGION, client }
const calls = {
  call: async (_service: string, _target: AwsTarget, _deadline: number, make: never, send: never) =>
    (send as (client: unknown, ms: number) => Promise<unknown>)(
      (make as (given: object) => unknown)({ ...settings, credentials: keys }),
      1000,
    ),
} as never as Provider

interface Way {
  /** a valid answer */
  answer: fc.Arbitrary<string>
  /** by the SDK, in the shape that the adapter gives */
  sdk: (name: string) => Promise<unknown>
  wire: (name: string) => Promise<unknown>
}

const text = fc.string({ minLength: 1, maxLength: 9 })
const escaped = (value: string) => value.replace(/[&<>]/g, char => `&#x${char.charCodeAt(0).toString(16)};`)
const element = (name: string, value: fc.Arbitrary<string>) =>
  value.map(inner => `<${name}>${inner}</${name}>`)
/** What a text of XML keeps; white space alone is none. */
const word = fc.stringMatching(/^[!-~]{1,9}$/).map(escaped)
const several = (...parts: fc.Arbitrary<string>[]) =>
  fc.tuple(...parts.map(part => fc.option(part, { nil: '' }))).map(all => all.join(''))
const all = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map(given => given.join(''))
const listed = (name: string, entry: string, inner: fc.Arbitrary<string>) =>
  element(
    name,
    fc.array(element(entry, inner), { maxLength: 2 }).map(given => given.join('\n')),
  )
const result = (action: string, inner: fc.Arbitrary<string>) =>
  element(`${action}Response`, element(`${action}Result`, inner))

const instance = several(
  element('instanceId', fc.constant('i-1')),
  element('imageId', word),
  element('instanceState', all(element('code', fc.nat(80).map(String)), element('name', word))),
  element('vpcId', word),
  element('subnetId', word),
  element('iamInstanceProfile', several(element('arn', word), element('id', word))),
  listed('tagSet', 'item', all(element('key', word), element('value', word))),
)

const instanceOf = ({ InstanceId, State, ImageId, VpcId, SubnetId, ...rest }: Ec2Instance) => ({
  id: InstanceId ?? '',
  state: State?.Name ?? '',
  amiId: ImageId || undefined,
  vpcId: VpcId || undefined,
  subnetId: SubnetId || undefined,
  profileArn: rest.IamInstanceProfile?.Arn || undefined,
  tags: Object.fromEntries((rest.Tags ?? []).map(tag => [tag.Key ?? '', tag.Value ?? ''])),
})

const principal = (entity?: { Arn?: string; id?: string }) => {
  if (!entity?.Arn || !entity.id) throw new Error('IAM answered without an entity')
  return { arn: entity.Arn, uniqueId: entity.id }
}
const entity = (type: string) =>
  element(type, several(element('Path', word), element('Arn', word), element(`${type}Id`, word)))
const base64 = fc.uint8Array({ minLength: 1, maxLength: 20 }).map(one => Buffer.from(one).toString('base64'))
const contextOf = (keyring: string) => ({ keyring })
const key = (given: Uint8Array | undefined) => {
  if (!given?.length) throw new Error('KMS gave no key')
  return Buffer.from(given).toString('hex')
}

const ways: Record<string, Way> = {
  'EC2, an instance': {
    answer: element(
      'DescribeInstancesResponse',
      listed(
        'reservationSet',
        'item',
        all(element('ownerId', fc.constant(target.account)), listed('instancesSet', 'item', instance)),
      ),
    ),
    sdk: async id => {
      const { Reservations = [] } = await clients.ec2.send(
        new DescribeInstancesCommand({ InstanceIds: [id] }),
      )
      const own = Reservations.filter(({ OwnerId }) => OwnerId === target.account)
      const found = own
        .flatMap(one => one.Instances ?? [])
        .map(instanceOf)
        .filter(one => one.id === id)
      if (found.length > 1) throw new Error('twice')
      return found[0]
    },
    wire: async id => (await describeByIds(calls, target, [id], 0)).get(id),
  },
  'IAM, a user': {
    answer: result('GetUser', entity('User')),
    sdk: async UserName => {
      const { User } = await clients.iam.send(new GetUserCommand({ UserName }))
      return principal(User && ({ Arn: User.Arn, id: User.UserId } as object))
    },
    wire: name => iamPrincipals(calls).find(target, { type: 'user', name }, 0),
  },
  'IAM, a role': {
    answer: result('GetRole', entity('Role')),
    sdk: async RoleName => {
      const { Role } = await clients.iam.send(new GetRoleCommand({ RoleName }))
      return principal(Role && ({ Arn: Role.Arn, id: Role.RoleId } as object))
    },
    wire: name => iamPrincipals(calls).find(target, { type: 'role', name }, 0),
  },
  'IAM, an instance profile': {
    answer: result(
      'GetInstanceProfile',
      element(
        'InstanceProfile',
        all(
          element('Arn', word),
          element('InstanceProfileId', word),
          listed('Roles', 'member', element('Arn', word)),
        ),
      ),
    ),
    sdk: async InstanceProfileName => {
      const { InstanceProfile: found } = await clients.iam.send(
        new GetInstanceProfileCommand({ InstanceProfileName }),
      )
      const named = principal(found && ({ Arn: found.Arn, id: found.InstanceProfileId } as object))
      return { ...named, roleArns: (found?.Roles ?? []).map(role => role.Arn ?? '') }
    },
    wire: name => iamPrincipals(calls).profile(target, name, 0),
  },
  'STS, a session': {
    answer: result(
      'AssumeRole',
      element(
        'Credentials',
        all(
          element('AccessKeyId', word),
          element('SecretAccessKey', word),
          element('SessionToken', word),
          element('Expiration', fc.constant('2026-11-25T12:00:00Z')),
        ),
      ),
    ),
    sdk: async RoleArn => {
      const { Credentials: made } = await clients.sts.send(
        new AssumeRoleCommand({
          RoleArn,
          RoleSessionName: 'cloud-auth',
          DurationSeconds: 900,
          ExternalId: RoleArn,
        }),
      )
      if (!made?.AccessKeyId || !made.SecretAccessKey || !made.SessionToken || !made.Expiration)
        throw new Error('STS gave no credentials')
      return {
        accessKeyId: made.AccessKeyId,
        secretAccessKey: made.SecretAccessKey,
        sessionToken: made.SessionToken,
        expiration: made.Expiration,
      }
    },
    wire: role => sessionOf(target, { role, externalId: role }, keys, { clock, meter })(),
  },
  'STS, the account': {
    answer: result('GetCallerIdentity', several(element('Arn', word), element('Account', word))),
    sdk: async () => (await clients.sts.send(new GetCallerIdentityCommand({}))).Account ?? '',
    wire: () => accountOf(target, keys, meter),
  },
  'KMS, a key': {
    answer: base64.map(Plaintext => JSON.stringify({ KeyId: 'arn', Plaintext })),
    sdk: async id => {
      const CiphertextBlob = Buffer.from(id)
      const command = new DecryptCommand({ CiphertextBlob, EncryptionContext: contextOf(id) })
      return key((await clients.kms.send(command)).Plaintext)
    },
    wire: async id => key(await lazyKms(meter).unwrap({ id, wrapped: Buffer.from(id).toString('base64') })),
  },
  'KMS, a new key': {
    answer: fc
      .tuple(base64, base64)
      .map(([Plaintext, CiphertextBlob]) => JSON.stringify({ KeyId: 'arn', Plaintext, CiphertextBlob })),
    sdk: async KeyId => {
      const command = new GenerateDataKeyCommand({
        KeyId,
        KeySpec: 'AES_256',
        EncryptionContext: contextOf(KeyId),
      })
      const { Plaintext, CiphertextBlob } = await clients.kms.send(command)
      return { dataKey: key(Plaintext), wrapped: key(CiphertextBlob) }
    },
    wire: async id => {
      const { dataKey, wrapped } = await lazyKms(meter).newDataKey(id, id)
      return { dataKey: key(dataKey), wrapped: key(Buffer.from(wrapped, 'base64')) }
    },
  },
}

/** What both make of the same answer, and what each has sent last. */
async function both(way: Way, name: string, status: number, answer: string) {
  const settled = async (work: (name: string) => Promise<unknown>) => {
    Object.assign(state, { status, text: answer, sent: [] })
    const end = await work(name).then(
      value => ({ value }),
      (error: Error) => ({ error: (error.cause as Error | undefined) ?? error }),
    )
    return { end, sent: state.sent[0] }
  }
  return { expected: await settled(way.sdk), got: await settled(way.wire) }
}

describe.each(Object.entries(ways))('%s, as the SDK has it', (_, way) => {
  test('what is sent and what is answered', async () => {
    await fc.assert(
      fc.asyncProperty(text, way.answer, async (name, answer) => {
        const { expected, got } = await both(way, name, 200, answer)
        expect(got.sent).toEqual(expected.sent)
        if ('value' in expected.end) expect(got.end).toEqual(expected.end)
        else expect(got.end).toHaveProperty('error')
      }),
      { numRuns: GENERATED },
    )
  })

  test('answers that are no such are read as the SDK reads them, or are refused', async () => {
    let refused = 0
    const mutated = fc
      .tuple(way.answer, fc.nat(), fc.nat(), fc.nat(2), word)
      .map(([whole, at, to, how, put]) => {
        const [from, end] = [at % whole.length, Math.min(whole.length, (at % whole.length) + (to % 12))]
        if (how === 0) return whole.slice(0, from)
        return `${whole.slice(0, from)}${how === 1 ? put : ''}${whole.slice(end)}`
      })
    await fc.assert(
      fc.asyncProperty(mutated, async answer => {
        const { expected, got } = await both(way, 'i-1', 200, answer)
        if ('error' in got.end) refused += 1
        else expect(got.end).toEqual(expected.end)
      }),
      { numRuns: MUTATED },
    )
    expect(refused).toBeGreaterThan(MUTATED / 10)
  })

  test.each([400, 403, 404, 500, 503])('errors with status %i', async status => {
    for (const code of ['Throttling', 'AccessDenied', 'AuthFailure', 'ExpiredToken', 'InternalFailure']) {
      const error = `<Code>${code}</Code><Message>said</Message>`
      const form =
        way === ways['EC2, an instance']
          ? `<Response><Errors><Error>${error}</Error></Errors><RequestID>r</RequestID></Response>`
          : `<ErrorResponse><Error><Type>Sender</Type>${error}</Error><RequestId>r</RequestId></ErrorResponse>`
      const json = JSON.stringify({ __type: `com.amazonaws#${code}`, message: 'said' })
      const { expected, got } = await both(
        way,
        'i-1',
        status,
        way.wire.toString().includes('lazyKms') ? json : form,
      )
      const seen = ({
        error: { name, message, $metadata },
      }: {
        error: Error & { $metadata?: { httpStatusCode?: number } }
      }) => ({ name, message, status: $metadata?.httpStatusCode })
      expect(seen(got.end as never), code).toEqual(seen(expected.end as never))
    }
  })
})

test('several instances are asked for by a filter, as the SDK writes it', async () => {
  const ids = ['i-1', 'i-2', 'i-3']
  const named = new DescribeInstancesCommand({ Filters: [{ Name: 'instance-id', Values: ids }] })
  Object.assign(state, { status: 200, text: '<DescribeInstancesResponse/>', sent: [] })
  await clients.ec2.send(named)
  expect(await describeByIds(calls, target, ids, 0)).toEqual(new Map())
  expect(state.sent[1]).toEqual(state.sent[0])
})

test('an instance of another account, or one that was not asked for, is none', async () => {
  const item = (owner: string, id: string) =>
    `<item><ownerId>${owner}</ownerId><instancesSet><item><instanceId>${id}</instanceId></item></instancesSet></item>`
  const answer = (items: string) =>
    `<DescribeInstancesResponse><reservationSet>${items}</reservationSet></DescribeInstancesResponse>`
  state.status = 200
  state.text = answer(
    `${item(target.account, 'i-1')}${item('999999999999', 'i-2')}${item(target.account, 'i-3')}`,
  )
  expect([...(await describeByIds(calls, target, ['i-1', 'i-2'], 0)).keys()]).toEqual(['i-1'])
  state.text = answer(item(target.account, 'i-1').repeat(2))
  await expect(describeByIds(calls, target, ['i-1'], 0)).rejects.toMatchObject({ name: 'UnreadableAnswer' })
})

test.each([
  ['twice', '<ownerId>111122223333</ownerId><ownerId>111122223333</ownerId>'],
  ['in another namespace', '<ownerId xmlns="http://other">111122223333</ownerId>'],
  ['no text', '<ownerId><id>111122223333</id></ownerId>'],
])('what is looked at and is there %s is refused, not guessed', async (_, owner) => {
  const inner = '<instancesSet><item><instanceId>i-1</instanceId></item></instancesSet>'
  state.status = 200
  state.text = `<DescribeInstancesResponse xmlns="http://ec2"><reservationSet><item>${owner}${inner}</item></reservationSet></DescribeInstancesResponse>`
  await expect(describeByIds(calls, target, ['i-1'], 0)).rejects.toMatchObject({ name: 'UnreadableAnswer' })
})
