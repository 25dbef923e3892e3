import type { Secondary } from '../../model/link.ts'
import { noopCell } from '../../replication/cell.ts'
import { denseUpTo } from '../../replication/density.ts'
import type { Head } from '../../replication/head.ts'
import type { Journal } from '../../replication/journal.ts'
import { replace } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import { skewOf } from '../envelope.ts'
import { type Question, questionIn, type Reply } from '../messages.ts'
import { FORMAT, LinkRefused } from '../source.ts'
import { addressesOfOthers } from './addresses.ts'
import { type AdmittedCall, addressesOf, type LinkPorts } from './ports.ts'

/** A journal that has been quiet for so long gets a cell that tells nothing but the time, milliseconds. */
const CANARY_MS = 10_000
const LONGEST = { state: 64, address: 2048 }

/**
 * The heartbeat of a secondary: what it tells is kept for status, and it learns how far this journal is.
 * @throws LinkRefused
 */
export async function echo(
  ports: LinkPorts,
  call: AdmittedCall & { secondary: Item<'secondary'> },
  head: Head,
): Promise<Reply<'Echo'>> {
  const asked = questionIn('Echo', call.body)
  checkFormat(asked)
  const heard = replace(call.secondary, call.secondary, heardOf(call.secondary.data, asked, call))
  if ((await ports.store.commit([heard], call)) === 'conflict')
    throw new LinkRefused('unavailable', 'two heartbeats at once: repeat')
  const dense = await denseUpTo(ports.journal, head)
  const canaryAt = (await canary(ports.journal, head, dense, call.now)) ?? 0
  return {
    ...{ seq: head.seq, epoch: head.epoch, line: head.line, frontier: dense, canaryAt, format: FORMAT },
    addresses: addressesOf(call, ports),
    met: await addressesOfOthers(ports, call.secondary.data.cluster),
  }
}

/** Upstream must not be newer than downstream: what it writes could be misread. */
function checkFormat({ format }: Question<'Echo'>): void {
  if (format < FORMAT)
    throw new LinkRefused(
      'failed_precondition',
      `this cluster speaks format ${FORMAT}, the secondary ${format} at most: upgrade the secondary; it keeps its data`,
    )
}

const heardOf = (
  known: Secondary,
  { position, state, took, address, apiAddress }: Question<'Echo'>,
  { now, envelope }: AdmittedCall,
): Secondary => ({
  ...known,
  time: Number(envelope.time),
  address: address.slice(0, LONGEST.address) || known.address,
  apiAddress: apiAddress.slice(0, LONGEST.address),
  contact: {
    ...{ at: now, took, skew: skewOf(envelope, now), state: state.slice(0, LONGEST.state) },
    ...{ epoch: position.epoch, seq: position.seq },
  },
})

/**
 * The time of the newest cell that can be fetched, epoch milliseconds. When that is long ago, one more cell is
 * written, so that secondaries can tell silence from standing still; whether it succeeds, the next heartbeat shows.
 */
async function canary(
  journal: Pick<Journal, 'cells' | 'allocate' | 'putCell'>,
  { line, epoch, mode }: Head,
  frontier: number,
  now: number,
): Promise<number | undefined> {
  const [newest] = frontier > 0 ? await journal.cells(line, frontier - 1, frontier) : []
  if (mode === 'writing' && now - (newest?.at ?? 0) > CANARY_MS) {
    const place = await journal.allocate(epoch)
    if (place !== 'refused') await journal.putCell(noopCell({ epoch, seq: place.seq }, now))
  }
  return newest?.at
}
