import { performance } from 'node:perf_hooks'
import { remoteControl } from '../../infra/local/provider/control.ts'
import { HOME } from '../../infra/local/provider/home.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { describeByIds } from '../../shared/adapters/aws/describe-instances.ts'
import type { Environment } from '../../shared/adapters/aws/environment.ts'
import { ec2Instances } from '../../shared/adapters/aws/instances.ts'
import { provider } from '../../shared/adapters/aws/provider.ts'
import { callMeter, systemClock } from '../../shared/adapters/aws/system.ts'
import type { AwsTarget } from '../../shared/ports.ts'
import { Secret } from '../../shared/values/secret.ts'

/** Looks up one instance. */
type LookUp = (id: string, deadline: number) => Promise<unknown>

/** What a request allows for calls to AWS. */
const DEADLINE_MS = 10_000

/** How instances are looked up by an environment that shares calls, and by one that does not. */
export async function lookUpsAt({
  url,
  control_token: token,
}: ReachedProvider): Promise<Record<'shared' | 'each', () => LookUp>> {
  const control = remoteControl(url, token)
  const name = 'look-ups'
  await control.putUser({ account: HOME.account, name })
  const { accessKeyId, secretAccessKey } = await control.createAccessKey({
    account: HOME.account,
    user: name,
  })
  const client = {
    version: 'bench',
    maxRetries: -1,
    stsRegion: '',
    endpoint: url,
    iamEndpoint: url,
    stsEndpoint: url,
    credentials: { accessKey: accessKeyId, secretKey: new Secret(secretAccessKey) },
  }
  const target: AwsTarget = { ...HOME, client }
  // the wire asks the process where it is
  process.env['AWS_REGION'] = HOME.region
  const environment = { cloudKeys: { accessKey: '', secretKey: '' }, onLambda: true } as Environment
  const given = { environment, clock: systemClock, meter: callMeter() }
  return {
    shared: () => {
      const instances = ec2Instances(provider(given), given)
      return (id, deadline) => instances.describe(target, id, deadline)
    },
    each: () => {
      const calls = provider(given)
      return (id, deadline) => describeByIds(calls, target, [id], deadline)
    },
  }
}

/** Look-ups in a second of so many environments with so many clients each, and how many failed in one. */
export async function lookUpRate(
  make: () => LookUp,
  ids: readonly string[],
  { environments, clients, seconds }: Record<'environments' | 'clients' | 'seconds', number>,
): Promise<{ perSecond: number; failed: number }> {
  const end = performance.now() + seconds * 1000
  let [next, done, failed] = [0, 0, 0]
  const client = async (lookUp: LookUp): Promise<void> => {
    while (performance.now() < end) {
      next += 1
      await lookUp(ids[next % ids.length] ?? '', Date.now() + DEADLINE_MS).then(
        () => {
          if (performance.now() < end) done += 1
        },
        () => {
          failed += 1
        },
      )
    }
  }
  await Promise.all(
    Array.from({ length: environments }, make).flatMap(one =>
      Array.from({ length: clients }, () => client(one)),
    ),
  )
  if (done === 0) throw new Error('no look-up was answered')
  return { perSecond: done / seconds, failed: failed / seconds }
}
