import { root } from '../../infra/checkout.ts'
import { type Load, servedHost } from './served.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** URL of the imitated AWS, in a process of its own as beside `npm start` */
  provider: string
}

const INSTANCES = 400
const CLIENTS = 64
const SECONDS = 10
/** Logins between two lines of print. */
const TOLD_EVERY = 10_000

/** `--memory <logins>`: what the process of a host holds while so many log in, of both types in turns. */
export async function memoryBench(logins: number, { print, results, load, provider }: Tools): Promise<void> {
  const host = await servedHost({ directory: root, provider, instances: INSTANCES })
  print(`Memory of a host's process, engine and imitated AWS apart, ${CLIENTS} clients, both types in turns`)
  const told: { logins: number; mb: number }[] = []
  let [done, highest, next] = [0, 0, 0]
  const tell = async () => {
    const mb = await host.ask('heldMb')
    highest = Math.max(highest, mb)
    if (done < next) return
    next += TOLD_EVERY
    told.push({ logins: done, mb })
    print(`  after ${String(done).padStart(6)} logins   ${mb.toFixed(0)} MB`)
  }
  try {
    await tell()
    for (let round = 0; done < logins; round++) {
      const type = round % 2 === 0 ? 'ec2' : 'iam'
      const { answered, refused } = await host.measure(load, type, CLIENTS, SECONDS)
      if (refused > 0) throw new Error(`${refused} logins were refused`)
      done += answered
      await tell()
    }
    const mb = await host.ask('heldMb')
    print(`  after ${String(done).padStart(6)} logins   ${mb.toFixed(0)} MB, ${highest.toFixed(0)} at most`)
    results['memory'] = { logins: done, mb, highest, told }
  } finally {
    await host.close()
  }
}
