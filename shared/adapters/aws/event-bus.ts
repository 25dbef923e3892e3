import { ApiError } from '../../api/errors.ts'
import type { CallMeter, Clock } from '../../ports.ts'
import { splitIntoChunks } from '../../values/batches.ts'
import { serviceHost } from '../../values/region.ts'
import { failed, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import type { BusEvent, EventBus } from '../../work-ports.ts'
import { type LambdaEnvironment, readOwnCredentials } from './environment.ts'
import { ATTEMPT_TIMEOUT_MS } from './wire/limits.ts'
import { wireAddress, wireTransport } from './wire/post.ts'
import { createSigV4Signer } from './wire/sign.ts'

/** The maximum number of events in one request to EventBridge. */
const MOST_ENTRIES = 10
const PUT_EVENTS_TRIES = 3

/** The source of all events of this product. */
const SOURCE = 'cloud-auth'

interface Dependencies {
  environment: Pick<LambdaEnvironment, 'ownRegion' | 'eventsEndpoint'>
  clock: Clock
  meter: CallMeter
}

/**
 * Sends events to the default event bus by the only action of EventBridge that is needed. The SDK's client for
 * EventBridge would be larger than this code.
 * @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
export function createEventBridgeBus({ environment, clock, meter }: Dependencies): EventBus {
  const { ownRegion: region, eventsEndpoint } = environment
  const address = wireAddress(new URL(eventsEndpoint || `https://${serviceHost('events', region)}/`))
  const sign = createSigV4Signer('events', region)

  async function once(body: string): Promise<void> {
    meter.count('events')
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AWSEvents.PutEvents' }
    const signed = sign({ ...address, headers, body }, readOwnCredentials(), clock.now())
    const answer = await wireTransport.post(address, signed, body, ATTEMPT_TIMEOUT_MS)
    const text = answer.body.toString('utf8')
    if (answer.status !== 200) throw new Error(`EventBridge answered ${answer.status}: ${text.slice(0, 200)}`)
    const { FailedEntryCount = 0 } = JSON.parse(text) as { FailedEntryCount?: number }
    if (FailedEntryCount > 0) throw new Error(`EventBridge refused ${FailedEntryCount} events`)
  }

  async function insist(body: string): Promise<void> {
    const put = await retryOnConflict(
      { tries: PUT_EVENTS_TRIES, pause: tried => clock.sleep(200 * tried) },
      () =>
        once(body).then(
          () => ok(),
          (error: unknown) => failed(error),
        ),
    )
    if (!put.ok)
      throw new ApiError('busy', 'the event bus cannot be reached', { retryAfter: 5, cause: put.fault })
  }

  return {
    put: async events => {
      for (const some of splitIntoChunks(events, MOST_ENTRIES))
        await insist(JSON.stringify({ Entries: some.map(entryOf) }))
    },
  }
}

const entryOf = ({ type, time, detail }: BusEvent) => ({
  Source: SOURCE,
  DetailType: type,
  Detail: JSON.stringify(detail),
  Time: Date.parse(time) / 1000,
})
