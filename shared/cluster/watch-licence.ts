import { alarming } from '../api/alarming.ts'
import { readLicence } from '../api/licence.ts'
import type { Ports } from '../ports.ts'

const DAY_MS = 86_400_000
/** Days before its end from which a licence is told of. */
const NOTICE_DAYS = 30

/** Writes a line for operators in the last thirty days of a licence, and after its end; an alarm counts them. */
export function watchLicence({ deployment, clock, log }: Pick<Ports, 'deployment' | 'clock' | 'log'>): void {
  const read = readLicence(deployment.license)
  if ('fault' in read) return
  const days = Math.floor((read.licence.endsAt * 1000 - clock.now()) / DAY_MS)
  if (days < NOTICE_DAYS) log.warn(alarming.licence, { days, id: read.licence.id })
}
