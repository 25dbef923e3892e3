import { root } from '../../infra/checkout.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { median } from './median.ts'
import { type Load, type Measured, type ServedHost, servedHost, type Type } from './served.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** URL of the imitated AWS */
  provider: ReachedProvider
  /** starts another one */
  another(): Promise<ReachedProvider & { stop: () => void }>
}

const TYPES: readonly Type[] = ['ec2', 'iam']
const INSTANCES = 400
const SECONDS = 4
const WARM_UP = 2
const ROUNDS = 3
const CLIENTS = [1, 16, 64]

/** Two hosts that are measured in turns, and what of their processor time is compared. */
interface Compared {
  name: string
  host: ServedHost
  other: ServedHost
  /** milliseconds of one login */
  of: (one: Measured) => number
}

/** `--against <checkout>`: processor time of a login, ours ÷ that of another checkout, in turns. */
export async function againstBench(directory: string, tools: Tools): Promise<void> {
  const other = `${directory.replace(/\/$/, '')}/`
  tools.print(
    `Processor time of the whole host for a login, against ${directory}: medians of ${ROUNDS} rounds in turns`,
  )
  await bothServed(tools, other, hosts =>
    compared({ ...hosts, name: 'against', of: one => one.whole }, tools),
  )
}

/** `--journaled`: processor time of our own part of a login with a journal ÷ that of one without, in turns. */
export async function journaledBench(tools: Tools): Promise<void> {
  tools.print(
    `Processor time of what serves a login, engine not counted, journaled ÷ plain: medians of ${ROUNDS} rounds in turns`,
  )
  await bothServed(tools, root, async hosts => {
    await hosts.host.ask('journaled')
    const of = ({ whole, cpu }: Measured) => whole - cpu.engine
    await compared({ ...hosts, name: 'journaled', of }, tools)
  })
}

/** Starts our host, and that of another checkout; both make the same role and user, each at an AWS of its own. */
async function bothServed(
  { provider, another }: Tools,
  directory: string,
  work: (hosts: Pick<Compared, 'host' | 'other'>) => Promise<void>,
): Promise<void> {
  const aws = await another()
  const host = await servedHost({ directory: root, provider, instances: INSTANCES })
  const other = await servedHost({ directory, provider: aws, instances: INSTANCES })
  try {
    await work({ host, other })
  } finally {
    await host.close()
    await other.close()
    aws.stop()
  }
}

async function compared({ name, host, other, of }: Compared, tools: Tools): Promise<void> {
  const { print, results, load } = tools
  for (const type of TYPES) {
    for (const clients of CLIENTS) {
      for (const one of [host, other]) await one.measure(load, type, clients, WARM_UP)
      const [ours, theirs]: [Measured[], Measured[]] = [[], []]
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await host.measure(load, type, clients, SECONDS))
        theirs.push(await other.measure(load, type, clients, SECONDS))
      }
      const ratio = median(ours.map((one, round) => of(one) / of(theirs[round] ?? one)))
      const [ms, otherMs] = [ours, theirs].map(all => median(all.map(of)))
      const [rate, otherRate] = [ours, theirs].map(all => median(all.map(one => one.perSecond)))
      results[`${name} ${type} ${clients}`] = { ratio, ours, theirs }
      print(
        `  ${type}   ${String(clients).padStart(2)} clients   ${ratio.toFixed(2)}   (${ms?.toFixed(2)} against ${otherMs?.toFixed(2)} ms; ${rate?.toFixed(0)} against ${otherRate?.toFixed(0)}/s)`,
      )
    }
  }
}
