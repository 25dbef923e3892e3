import { readFileSync, rmSync } from 'node:fs'
import { createFailoverToken } from '../../../infra/local/commands/drill/failover-token.ts'
import { createLoginProof, demonstrateLogins } from '../../../infra/local/commands/start/demonstration.ts'
import { type LocalHostOptions, startLocalHost } from '../../../infra/local/host/host.ts'
import { joinLocalPair } from '../../../infra/local/pair/pair.ts'
import { startProvider } from '../../../infra/local/provider/provider.ts'
import { startLinkTap } from '../../support/faults/link-tap.ts'
import { startStorageTap } from '../../support/faults/storage-tap-port.ts'
import { startPacedLoad } from './paced-load.ts'
import { insist, startWeather, type TappedHost } from './weather.ts'

export type SoakSet = Awaited<ReturnType<typeof startSoakSet>>
type Say = (text: string) => void

/** Starts a primary and a secondary under load and in bad weather, with a tap before each cluster's link. */
export async function startSoakSet(rate: number, random: () => number, say: Say) {
  const { east, west, kill, close: closeHosts } = await startSoakHosts()
  const [origin, other] = [east, west].map(({ base_url }) => new URL(base_url).origin)
  const taps = [await startLinkTap(origin ?? ''), await startLinkTap(other ?? '')] as const
  // west adopts the address in the request to join, so other clusters reach it through its tap
  const through = { ...west, base_url: `${taps[1].url}/v1` }
  await insist(() => joinLocalPair({ east, west: through }, say, { address: taps[0].url }))
  await demonstrateLogins(east, () => ({}))
  return {
    /** a promotion or a restart changes `primary` and `secondary` */
    primary: east,
    secondary: west,
    taps,
    kill,
    random,
    /** a prepared operation token */
    token: await createFailoverToken(east),
    /** the set's root token */
    root: east.root_token,
    load: startPacedLoad(east, await createLoginProof(east), rate),
    weather: await startWeather([east, west], taps, random),
    /** number of ids under which clusters have followed so far */
    ids: 0,
    /** number of promotions by force so far */
    disasters: 0,
    close: async () => {
      for (const tap of taps) await tap.close()
      await closeHosts()
    },
  }
}

/**
 * Starts two clusters on disk next to one imitated AWS, which outlives both clusters. Each cluster can be
 * killed and started again.
 */
async function startSoakHosts() {
  const { url, control, controlToken, close: endProvider } = await startProvider()
  const provider = async () => ({ url, control, controlToken, close: async () => undefined })
  const running = new Map<string, TappedHost>()
  const start = async (name: 'east' | 'west', ports: Partial<LocalHostOptions> = {}): Promise<TappedHost> => {
    let tapUrl = ''
    const started = await startLocalHost({
      cluster: `soak-${process.pid}-${name}`,
      port: 0,
      region: name === 'east' ? 'us-east-1' : 'us-west-2',
      memory: false,
      unlisted: true,
      tap: async (engineUrl, users) => {
        const tap = await startStorageTap(engineUrl, users)
        tapUrl = tap.url
        return tap
      },
      apart: true,
      provider,
      ...ports,
    })
    const host = Object.assign(started, { tap_url: tapUrl })
    running.set(host.cluster, host)
    return host
  }
  /**
   * Kills a host's engine and closes the host, as a power cut does. @returns a function that starts the host
   * again at the same addresses
   */
  const kill = async (host: TappedHost): Promise<() => Promise<TappedHost>> => {
    const { pid } = JSON.parse(readFileSync(`${host.directory}/engine.json`, 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    running.delete(host.cluster)
    // closing fails where the host needs the engine, which is gone
    await host.close().catch(() => undefined)
    const [port, linkPort] = [host.base_url, host.link_address].map(one => Number(new URL(one).port))
    if (port === undefined || linkPort === undefined) throw new Error('the host has no ports')
    return () => start(host.cluster.endsWith('east') ? 'east' : 'west', { port, linkPort })
  }
  /** Closes both hosts and the imitated AWS, and deletes their data. */
  const close = async () => {
    for (const host of running.values()) {
      await host.close()
      rmSync(host.directory, { recursive: true, force: true })
    }
    await endProvider()
  }
  try {
    return { east: await start('east'), west: await start('west'), kill, close }
  } catch (error) {
    await close()
    throw error
  }
}
