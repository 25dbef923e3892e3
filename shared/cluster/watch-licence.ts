import { readLicence } from '../api/licence.ts'
import type { Ports } from '../ports.ts'
import { tellDaysLeft } from '../watching/notice.ts'

/** Writes down how many days of a licence are left, as a warning in its last thirty days and after its end. */
export function watchLicence({ deployment, clock, log }: Pick<Ports, 'deployment' | 'clock' | 'log'>): void {
  const read = readLicence(deployment.license)
  if (!read.ok) return
  const { id, endsAt } = read.value
  tellDaysLeft({ clock, log }, 'the licence', { id }, { endsAt: endsAt * 1000, metric: 'LicenceDays' })
}
