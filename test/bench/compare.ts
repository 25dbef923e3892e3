import { checkoutRoot } from '../../infra/checkout.ts'
import type { LocalHostOptions } from '../../infra/local/host/host.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { median } from './median.ts'
import { type Load, type Measured, type ServedHost, servedHost, type Type } from './served.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** address of the imitated AWS */
  provider: ReachedProvider
  /** starts a second imitated AWS */
  another(): Promise<ReachedProvider & { stop: () => void }>
}

const TYPES: readonly Type[] = ['ec2', 'iam']
const INSTANCES = 400
const SECONDS = 4
const WARM_UP = 2
const ROUNDS = 3
const CLIENTS = [1, 16, 64]

/**
 * `--against <checkout>`: compares the processor time of a login with the processor time of a login in
 * another checkout (ours ÷ theirs), in turns. Both hosts make the same roles and users, each at its own AWS.
 * @param options of our host
 */
export async function againstBench(
  directory: string,
  options: Partial<LocalHostOptions>,
  tools: Tools,
): Promise<void> {
  const { print, provider, another } = tools
  print(
    `Processor time of the whole host for a login, against ${directory}: medians of ${ROUNDS} rounds in turns`,
  )
  const aws = await another()
  const host = await servedHost({ directory: checkoutRoot, provider, instances: INSTANCES, options })
  const other = await servedHost({
    directory: `${directory.replace(/\/$/, '')}/`,
    provider: aws,
    instances: INSTANCES,
  })
  try {
    await compare(host, other, tools)
  } finally {
    await host.close()
    await other.close()
    aws.stop()
  }
}

async function compare(host: ServedHost, other: ServedHost, tools: Tools): Promise<void> {
  const { print, results, load } = tools
  for (const type of TYPES) {
    for (const clients of CLIENTS) {
      for (const one of [host, other]) await one.measure(load, type, clients, WARM_UP)
      const [ours, theirs]: [Measured[], Measured[]] = [[], []]
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await host.measure(load, type, clients, SECONDS))
        theirs.push(await other.measure(load, type, clients, SECONDS))
      }
      const ratio = median(ours.map((one, round) => one.whole / (theirs[round] ?? one).whole))
      const [ms, otherMs] = [ours, theirs].map(all => median(all.map(one => one.whole)))
      const [rate, otherRate] = [ours, theirs].map(all => median(all.map(one => one.perSecond)))
      results[`against ${type} ${clients}`] = { ratio, ours, theirs }
      print(
        `  ${type}   ${String(clients).padStart(2)} clients   ${ratio.toFixed(2)}   (${ms?.toFixed(2)} against ${otherMs?.toFixed(2)} ms; ${rate?.toFixed(0)} against ${otherRate?.toFixed(0)}/s)`,
      )
    }
  }
}
