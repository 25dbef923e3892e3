import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type RunningProvider as Aws, startProvider } from '../../infra/local/provider/provider.ts'
import { describeInstancesByIds } from '../../shared/adapters/aws/describe-instances.ts'
import type { LambdaEnvironment } from '../../shared/adapters/aws/environment.ts'
import { createAwsProvider } from '../../shared/adapters/aws/provider.ts'
import { createCallMeter } from '../../shared/adapters/aws/system.ts'
import type { AwsTarget, ProviderSettings } from '../../shared/ports.ts'
import { Secret } from '../../shared/values/secret.ts'

const HOME = '111122223333'
const FOREIGN = '444455556666'

let aws: Aws
let instanceId: string
let old: ProviderSettings['credentials'] & {}
let fresh: ProviderSettings['credentials'] & {}
beforeAll(async () => {
  vi.stubEnv('AWS_REGION', 'eu-west-1')
  aws = await startProvider({ home: { account: HOME, region: 'eu-west-1' } })
  await aws.control.putUser({ account: HOME, name: 'server' })
  const pair = async () => {
    const { accessKeyId, secretAccessKey } = await aws.control.createAccessKey({
      account: HOME,
      user: 'server',
    })
    return { accessKey: accessKeyId, secretKey: new Secret(secretAccessKey) }
  }
  old = await pair()
  await aws.control.advance({ seconds: 120 })
  await aws.control.keyDelay({ milliseconds: 60_000 })
  fresh = await pair()
  const instance = await aws.control.putInstance({
    account: HOME,
    region: 'eu-west-1',
    privateIp: '172.31.0.9',
  })
  instanceId = instance.instanceId
  return () => aws.close()
})

let versions = 0
/** Describes the instance of an account with a new adapter. Returns its state or the error message. */
async function describeIn(account: string, keys: Partial<ProviderSettings>, times = 1): Promise<string[]> {
  versions += 1
  const client = {
    version: `v${versions}`,
    maxRetries: 0,
    endpoint: aws.url,
    iamEndpoint: aws.url,
    stsEndpoint: aws.url,
    stsRegion: '',
    ...keys,
  }
  const target: AwsTarget = { account, region: 'eu-west-1', client }
  const calls = createAwsProvider({
    environment: { cloudKeys: { accessKey: '', secretKey: '' }, onLambda: true } as LambdaEnvironment,
    clock: { now: () => Date.now(), sleep: async () => undefined },
    meter: createCallMeter(),
  })
  const answers: string[] = []
  for (let turn = 0; turn < times; turn++) {
    const answer = describeInstancesByIds(calls, target, [instanceId], Date.now() + 5000)
    answers.push(
      await answer.then(
        found => found.get(instanceId)?.state ?? 'none',
        (error: Error) => error.message,
      ),
    )
  }
  return answers
}

const REFUSED = `no STS role is configured for account ${FOREIGN}`

describe('an instance look-up without an STS role to assume', () => {
  test("is allowed in the server's own account (CVE-2025-11621)", async () => {
    expect(await describeIn(HOME, { credentials: old }, 2)).toEqual(['running', 'running'])
  })

  test('is refused for another account, each time (CVE-2025-11621)', async () => {
    expect(await describeIn(FOREIGN, { credentials: old }, 2)).toEqual([REFUSED, REFUSED])
  })

  test('is refused for another account too while a new access key is not known everywhere in AWS', async () => {
    const rotated = { credentials: fresh, previous: old }
    expect(await describeIn(HOME, { credentials: fresh })).toEqual([
      expect.stringContaining('InvalidClientTokenId'),
    ])
    expect(await describeIn(HOME, rotated, 2)).toEqual(['running', 'running'])
    expect(await describeIn(FOREIGN, rotated, 2)).toEqual([REFUSED, REFUSED])
  })
})
