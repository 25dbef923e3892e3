import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { awsAt } from '../../infra/local/host/aws-process.ts'
import { CONTROL_TOKEN } from '../../infra/local/host/lasting-host.ts'
import type { ClusterFile } from '../../infra/local/os/cluster-file.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { startIn } from '../support/programs/npm-start.ts'
import type { Load } from './served.ts'
import { makeFleet } from './world.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** URL of the imitated AWS, in a process of its own as beside `npm start` */
  provider: ReachedProvider
}

const INSTANCES = 400
const CLIENTS = 64
const SECONDS = 10
/** Logins between two lines of print. */
const TOLD_EVERY = 10_000

/** Memory that a process holds, MB. */
const heldMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** `--memory <logins>`: what the process of `npm start` holds while so many log in, of both types in turns. */
export async function memoryBench(logins: number, { print, results, load, provider }: Tools): Promise<void> {
  const state = mkdtempSync(`${tmpdir()}/cloud-auth-bench-`)
  const variables = { CLOUD_AUTH_STATE: state, [CONTROL_TOKEN]: provider.control_token }
  const run = startIn(variables, '--memory', '--port', '0', '--provider', provider.url)
  try {
    await run.until('Serving.')
    const cluster = JSON.parse(readFileSync(`${state}/local/cluster.json`, 'utf8')) as ClusterFile
    print(
      `Memory of what npm start runs, engine and imitated AWS apart, ${CLIENTS} clients, both types in turns`,
    )
    const told: { logins: number; mb: number }[] = []
    let [done, highest, next] = [0, 0, 0]
    const tell = () => {
      const mb = heldMb(cluster.pid)
      highest = Math.max(highest, mb)
      if (done < next) return
      next += TOLD_EVERY
      told.push({ logins: done, mb })
      print(`  after ${String(done).padStart(6)} logins   ${mb.toFixed(0)} MB`)
    }
    tell()
    const { control } = await awsAt(provider)
    const fleet = await makeFleet({ ...cluster, control }, INSTANCES)
    const url = `${cluster.base_url}/auth/cloud/login`
    for (let round = 0; done < logins; round++) {
      const bodies = fleet[round % 2 === 0 ? 'ec2' : 'iam']
      const { answered, refused } = await load({ url, bodies, concurrency: CLIENTS, seconds: SECONDS })
      if (refused > 0) throw new Error(`${refused} logins were refused`)
      done += answered
      tell()
    }
    const mb = heldMb(cluster.pid)
    print(`  after ${String(done).padStart(6)} logins   ${mb.toFixed(0)} MB, ${highest.toFixed(0)} at most`)
    results['memory'] = { logins: done, mb, highest, told }
  } finally {
    run.child.kill('SIGTERM')
    await run.ended
    rmSync(state, { recursive: true, force: true })
  }
}
