import { root } from '../../infra/checkout.ts'
import { remoteControl } from '../../infra/local/provider/control.ts'
import { HOME } from '../../infra/local/provider/home.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { lookUpRate, lookUpsAt } from './look-ups.ts'
import { type Load, type ServedHost, servedHost } from './served.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  provider: ReachedProvider
}

const ENVIRONMENTS = [1, 2, 8]
const REQUESTS = 64
/** As many as log in at once, and a half more: an instance that logs in twice at once is judged twice. */
const INSTANCES = 768
const SECONDS = 10
const WARM_UP = 3
const LIMIT = { service: 'ec2', action: 'DescribeInstances', perSecond: 20, burst: 20 } as const

/**
 * `--limited`: ec2 logins where EC2 takes 20 calls a second, by environments that serve 64 at once each; and the same of
 * one that serves one at a time, where nobody can share a call.
 */
export async function limitedBench(tools: Tools): Promise<void> {
  const { print, results, load, provider } = tools
  const control = remoteControl(provider.url, provider.control_token)
  print(`Where EC2 takes ${LIMIT.perSecond} describe calls a second of all`)
  const measured = async (environments: number, requests: number): Promise<void> => {
    const capacity = { environments, requests }
    const host = await servedHost({ directory: root, provider, instances: INSTANCES, capacity })
    try {
      await host.measure(load, 'ec2', environments * requests, WARM_UP)
      await control.limit(LIMIT)
      const run = await counted(host, environments * requests)
      results[`limited ${environments} × ${requests}`] = run
      print(
        `  ${environments} × ${String(requests).padStart(2)} at once   ${run.perSecond.toFixed(0)}/s   p50 ${run.p50.toFixed(0)} ms   p99 ${run.p99.toFixed(0)} ms   refused ${run.refused}   (${run.calls.toFixed(1)} calls a second, ${run.throttled.toFixed(1)} throttled)`,
      )
    } finally {
      await control.clearLimits()
      await host.close()
    }
  }
  async function counted(host: ServedHost, clients: number) {
    await control.resetCalls()
    const run = await host.measure(load, 'ec2', clients, SECONDS)
    const { calls } = await control.calls()
    const described = calls.filter(({ action }) => action === LIMIT.action)
    const throttled = described.filter(({ status }) => status === 503)
    return { ...run, calls: described.length / SECONDS, throttled: throttled.length / SECONDS }
  }
  await lookUps(tools)
  print('\nLogins:')
  for (const environments of ENVIRONMENTS) await measured(environments, REQUESTS)
  print('Nobody shares a call:')
  await measured(Math.max(...ENVIRONMENTS), 1)
}

/** Look-ups alone, which leave the processors time: what the limit allows. */
async function lookUps({ print, results, provider }: Tools): Promise<void> {
  const control = remoteControl(provider.url, provider.control_token)
  const made = await Promise.all(Array.from({ length: INSTANCES }, () => control.putInstance({ ...HOME })))
  const ids = made.map(({ instanceId }) => instanceId)
  const ways = await lookUpsAt(provider)
  print('\nLook-ups of instances:')
  for (const [way, words] of [
    ['shared', 'those that wait share calls'],
    ['each', 'a call for each'],
  ] as const) {
    for (const environments of ENVIRONMENTS) {
      await control.limit(LIMIT)
      const rate = await lookUpRate(ways[way], ids, { environments, clients: REQUESTS, seconds: SECONDS })
      results[`look-ups ${way} ${environments}`] = rate
      print(
        `  ${environments} × ${REQUESTS}, ${words}: ${rate.perSecond.toFixed(0)}/s   (${rate.failed.toFixed(1)} a second failed)`,
      )
      await control.clearLimits()
    }
  }
}
