import { randomUUID } from 'node:crypto'
import type { LocalLambdas } from '../lambda/lambdas.ts'
import type { ProviderControl } from '../provider/control.ts'
import type { KeptBusEvent } from '../provider/faults/bus-events.ts'
import { matchesEventPattern } from '../streams/pattern.ts'
import type { AssemblyModel } from '../template/assembly.ts'

const POLL_MS = 500

/**
 * Delivers events of the imitated AWS to the functions of the template's rules. Events of all accounts and regions
 * reach the bus, as if each account forwarded them. Events before the start of the host are lost.
 */
export function startLocalBus(
  { rules }: Pick<AssemblyModel, 'rules'>,
  control: Pick<ProviderControl, 'busEvents'>,
  lambdas: Pick<LocalLambdas, 'start'>,
): { close(): void } {
  let since = Number.MAX_SAFE_INTEGER
  let isBusy = false
  const poll = async (): Promise<void> => {
    const { events, last } = await control.busEvents({ since })
    since = last
    for (const event of events.map(deliveredForm))
      for (const { pattern, functionName } of rules)
        if (matchesEventPattern(pattern, event)) lambdas.start(functionName, event)
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    const free = () => {
      isBusy = false
    }
    // the imitated AWS may be closing
    void poll().then(free, free)
  }, POLL_MS)
  timer.unref()
  return { close: () => clearInterval(timer) }
}

/** Returns an event as EventBridge sends it to a target. */
const deliveredForm = ({ detailType, resources = [], ...event }: KeptBusEvent) => ({
  version: '0',
  id: randomUUID(),
  'detail-type': detailType,
  source: event.source,
  account: event.account,
  time: event.time,
  region: event.region,
  resources,
  detail: event.detail,
})
