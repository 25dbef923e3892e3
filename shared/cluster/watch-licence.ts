import { readLicence } from '../api/licence.ts'
import type { Ports } from '../ports.ts'
import { DAY_MS, NOTICE_DAYS } from '../watching/notice.ts'

/** Writes down how many days of a licence are left, as a warning in its last thirty days and after its end. */
export function watchLicence({ deployment, clock, log }: Pick<Ports, 'deployment' | 'clock' | 'log'>): void {
  const read = readLicence(deployment.license)
  if ('fault' in read) return
  const days = Math.floor((read.licence.endsAt * 1000 - clock.now()) / DAY_MS)
  const write = days < NOTICE_DAYS ? log.warn : log.info
  write('the licence', { id: read.licence.id, days }, { LicenceDays: days })
}
