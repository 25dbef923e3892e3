import { readFileSync, rmSync } from 'node:fs'
import { type Host, type HostOptions, startHost } from '../../host/host.ts'
import { startProvider } from '../../provider/provider.ts'

/** Two clusters on disk, each of which may be killed, and started again where it was. */
export interface SoakHosts {
  east: Host
  west: Host
  /** ends a host with its engine, as a power cut does. @returns starts it again, at the same addresses */
  kill(host: Host): Promise<() => Promise<Host>>
  /** removes what they kept, too */
  close(): Promise<void>
}

const REGIONS = { east: 'us-east-1', west: 'us-west-2' } as const

/** Starts both, beside an imitated AWS that outlives them. */
export async function startSoakHosts(): Promise<SoakHosts> {
  const { url, control, controlToken, close: endProvider } = await startProvider()
  // it is this soak's, whichever host does without it
  const provider = async () => ({ url, control, controlToken, close: async () => undefined })
  const running = new Map<string, Host>()
  const start = async (options: HostOptions): Promise<Host> => {
    const host = await startHost(options)
    running.set(options.cluster, host)
    return host
  }
  const optionsOf = (name: 'east' | 'west'): HostOptions => ({
    cluster: `soak-${process.pid}-${name}`,
    port: 0,
    region: REGIONS[name],
    memory: false,
    unlisted: true,
    tap: true,
    apart: true,
    provider,
  })
  const close = async () => {
    for (const host of running.values()) {
      await host.close()
      rmSync(host.directory, { recursive: true, force: true })
    }
    await endProvider()
  }
  try {
    const [east, west] = [await start(optionsOf('east')), await start(optionsOf('west'))]
    const options = new Map([
      [east.cluster, optionsOf('east')],
      [west.cluster, optionsOf('west')],
    ])
    const kill: SoakHosts['kill'] = async host => {
      const { pid } = JSON.parse(readFileSync(`${host.directory}/engine.json`, 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
      running.delete(host.cluster)
      // what it cannot end without its engine has ended with that
      await host.close().catch(() => undefined)
      const [port, linkPort] = [host.base_url, host.link_address].map(one => Number(new URL(one).port))
      const again = options.get(host.cluster)
      if (!again || port === undefined || linkPort === undefined) throw new Error('no host of this soak')
      return () => start({ ...again, port, linkPort })
    }
    return { east, west, kill, close }
  } catch (error) {
    await close()
    throw error
  }
}
