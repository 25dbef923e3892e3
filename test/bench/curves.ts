import { checkoutRoot } from '../../infra/checkout.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import type { Curve } from './picture.ts'
import { type Load, type Measured, type ServedHost, servedHost, type Type } from './served.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** address of the imitated AWS */
  provider: ReachedProvider
  draw(title: string, at: readonly number[], curves: Curve, of: string): void
}

const CLIENTS = [1, 16, 64, 256]
const TYPES: readonly Type[] = ['ec2', 'iam']
const INSTANCES = 400
const SECONDS = 4
const WARM_UP = 2

/**
 * Measures logins by number of clients, for both types, without a journal and with a journal. Prints, stores
 * and draws the numbers.
 */
export async function curvesBench(tools: Tools): Promise<void> {
  const { results, provider } = tools
  const host = await servedHost({ directory: checkoutRoot, provider, instances: INSTANCES })
  const points: Record<string, Measured[]> = {}
  try {
    for (const journal of ['plain', 'journaled']) {
      if (journal === 'journaled') await host.ask('journaled')
      for (const type of TYPES) points[`${type} ${journal}`] = await curve(host, type, journal, tools)
    }
  } finally {
    await host.close()
  }
  results['curves'] = { clients: CLIENTS, points }
  drawAll(points, tools)
}

async function curve(
  host: ServedHost,
  type: Type,
  journal: string,
  { print, load }: Tools,
): Promise<Measured[]> {
  print(`\nLogins ${type}, ${journal}: processor time of one, by part`)
  const found: Measured[] = []
  for (const clients of CLIENTS) {
    await host.measure(load, type, clients, WARM_UP)
    const run = await host.measure(load, type, clients, SECONDS)
    found.push(run)
    const parts = Object.entries(run.cpu).map(([part, ms]) => `${part} ${ms.toFixed(2)}`)
    print(
      `  ${String(clients).padStart(3)} clients   ${run.perSecond.toFixed(0)}/s   p50 ${run.p50.toFixed(0)} ms   p99 ${run.p99.toFixed(0)} ms   refused ${run.refused}   ${run.whole.toFixed(2)} ms: ${parts.join(', ')}`,
    )
  }
  return found
}

function drawAll(points: Readonly<Record<string, Measured[]>>, { draw }: Tools): void {
  const drawn = (title: string, of: (point: Measured) => number): void => {
    const curves: Curve = Object.fromEntries(Object.entries(points).map(([name, all]) => [name, all.map(of)]))
    draw(title, CLIENTS, curves, 'clients')
  }
  drawn('logins a second', point => point.perSecond)
  drawn('p50, ms', point => point.p50)
  drawn('p99, ms', point => point.p99)
}
