import { checkoutRoot } from '../../infra/checkout.ts'
import { createRemoteControl } from '../../infra/local/provider/control.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import type { JwtCase, JwtWorld } from './jwt-world.ts'
import type { LoadResult } from './load.ts'
import { median } from './median.ts'
import { type Load, type Measured, type ServedHost, servedHost } from './served.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** address of the imitated AWS */
  provider: ReachedProvider
}

const CLIENTS = 64
const SECONDS = 4
const WARM_UP = 2
const ROUNDS = 3
/** tokens that log in once: more than a round uses, for each round and the warm-up */
const ONCE = 8000 * (ROUNDS + 1)
/** logins a second of a known issuer, and requests a second that are refused meanwhile */
const [STEADY, REFUSED] = [50, 200]
const STEADY_SECONDS = 20
const ADDRESSES = 100
/** milliseconds that a fetch of keys takes, so that a login which waits for strangers' fetches shows */
const FETCH_MS = 500

/**
 * `--jwt`: compares logins by token with iam logins, and a forged token with a malformed one, in turns at 64 clients.
 * Then measures the times of logins while strangers send tokens of invented issuers.
 */
export async function jwtBench({ print, results, load, provider }: Tools): Promise<void> {
  const host = await servedHost({ directory: checkoutRoot, provider, instances: 1 })
  try {
    const { invented, ...world } = await host.ask('jwtWorld', {
      once: ONCE,
      invented: REFUSED * STEADY_SECONDS,
    })
    const found = await measureAll(host, world, load)
    const iam = rates(found['iam'])
    print(`\nLogins at ${CLIENTS} clients, medians of ${ROUNDS} rounds in turns`)
    for (const [name, runs] of Object.entries(found)) {
      const ratio = median(runs.map((run, round) => run.perSecond / (iam[round] ?? run.perSecond)))
      const refused = median(runs.map(one => one.refused))
      results[`jwt ${name}`] = { ratio, runs }
      print(
        `  ${name.padEnd(10)} ${median(rates(runs)).toFixed(0).padStart(6)}/s  ${ratio.toFixed(2)} × iam   ${median(runs.map(costOf)).toFixed(2)} ms of processor time   refused ${refused}`,
      )
    }
    const [forged = [], malformed = []] = [found['forged'], found['malformed']]
    const cost = median(forged.map((run, round) => costOf(run) / costOf(malformed[round] ?? run)))
    results['jwt forged'] = { cost, forged }
    print(`  a forged token costs ${cost.toFixed(2)} × a request that is refused by its form`)
    await besideBench({ print, results, load, provider }, host.url, { ...world, invented })
  } finally {
    await host.close()
  }
}

const rates = (runs: readonly Measured[] = []): number[] => runs.map(({ perSecond }) => perSecond)

/** Returns the processor time of the host for a request, whether it was answered or refused. */
const costOf = ({ whole, answered, refused }: Measured): number =>
  answered === 0 ? whole / refused : (whole * answered) / (answered + refused)

async function measureAll(host: ServedHost, world: Omit<JwtWorld, 'invented'>, load: Load) {
  const iam: JwtCase = { path: 'cloud', bodies: host.bodies.iam }
  const cases: Record<string, JwtCase> = { iam, ...world }
  const found: Record<string, Measured[]> = {}
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, { path, bodies }] of Object.entries(cases)) {
      const share = Math.floor(bodies.length / (ROUNDS + 1))
      const order = {
        url: host.url.replace('/cloud/', `/${path}/`),
        bodies: share > 0 ? bodies.slice(round * share, (round + 1) * share) : bodies,
        concurrency: CLIENTS,
        seconds: round === 0 ? WARM_UP : SECONDS,
      }
      const run = await host.measureRequests(load, order)
      if (round > 0) found[name] = [...(found[name] ?? []), run]
    }
  return found
}

/** Measures logins at a fixed rate: alone, and beside tokens that are malformed or name invented issuers. */
async function besideBench(
  { print, results, load, provider }: Tools,
  url: string,
  { service, malformed, invented }: JwtWorld,
): Promise<void> {
  const control = createRemoteControl(provider.url, provider.control_token)
  await control.fault({ service: 'oidc', kind: 'delay', delayMs: FETCH_MS, times: 100_000 })
  const order = {
    url: url.replace('/cloud/', `/${service.path}/`),
    concurrency: CLIENTS,
    seconds: STEADY_SECONDS,
  }
  const logins = { ...order, bodies: service.bodies, perSecond: STEADY }
  // more clients than wait for fetches at once, so that refused requests keep their rate
  const refused = { ...order, concurrency: 3 * CLIENTS, perSecond: REFUSED, addresses: ADDRESSES }
  const beside = (bodies: string[]) => Promise.all([load(logins), load({ ...refused, bodies })])
  const runs: Record<'alone' | 'malformed' | 'invented', LoadResult>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [alone, [floor], [flood]] = [
      await load(logins),
      await beside(malformed.bodies),
      await beside(invented.bodies),
    ]
    runs.push({ alone, malformed: floor, invented: flood })
  }
  results['jwt beside refused requests'] = runs
  print(`\nLogins of a known issuer, ${STEADY}/s beside ${REFUSED}/s refusals of ${ADDRESSES} addresses`)
  for (const name of ['alone', 'malformed', 'invented'] as const) {
    const [p50, p99] = (['p50', 'p99'] as const).map(at => median(runs.map(run => run[name][at])).toFixed(1))
    print(`  ${name.padEnd(10)} p50 ${p50} ms   p99 ${p99} ms`)
  }
  const ratio = median(runs.map(run => run.invented.p99 / run.malformed.p99))
  print(`  p99 beside invented issuers is ${ratio.toFixed(2)} × p99 beside malformed tokens`)
}
