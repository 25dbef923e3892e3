import { answer, type Call, data, type Outcome } from '../api/call.ts'
import { type Licence, readLicence } from '../api/licence.ts'
import type { Deployment, Ports } from '../ports.ts'
import { printTime } from '../values/time.ts'
import { logDaysLeft } from '../watching/notice.ts'

/** GET sys/license/status: the licence in the deployment's settings, or why it cannot be used. */
export function licenseStatus({ ports: { deployment }, now }: Call): Outcome {
  const licensing = readLicence(deployment.license)
  if (!licensing.ok)
    return answer(
      data({ autoloading_used: false, autoloaded: null, persisted_autoload: null }, [licensing.fault]),
    )
  const shown = shownOf(licensing.value)
  const warnings = isEnded(licensing.value, now) ? ['the licence has ended'] : []
  return answer(data({ autoloading_used: true, autoloaded: shown, persisted_autoload: shown }, warnings))
}

/** GET sys/license/features: what user interfaces show. A licence that has ended is named still, for all goes on by it. */
export function licenseFeatures({ ports: { deployment } }: Call): Outcome {
  const licensing = readLicence(deployment.license)
  return answer(data({ features: !licensing.ok ? [] : licensing.value.features }))
}

const isEnded = ({ endsAt }: Licence, now: number): boolean => endsAt * 1000 <= now

// what runs goes on after the licence has ended, so nothing is ever terminated
const shownOf = ({ id, features, startsAt, endsAt }: Licence) => ({
  license_id: id,
  features,
  start_time: printTime(startsAt * 1000),
  expiration_time: printTime(endsAt * 1000),
  terminated: false,
})

/** What health says of the licence; undefined when there is none. */
export function licenceForHealth({ license }: Deployment) {
  const licensing = readLicence(license)
  return !licensing.ok
    ? undefined
    : { state: 'autoloaded', expiry_time: printTime(licensing.value.endsAt * 1000), terminated: false }
}

/** Writes down how many days of a licence are left, as a warning in its last thirty days and after its end. */
export function watchLicence({ deployment, clock, log }: Pick<Ports, 'deployment' | 'clock' | 'log'>): void {
  const read = readLicence(deployment.license)
  if (!read.ok) return
  const { id, endsAt } = read.value
  logDaysLeft({ clock, log }, 'the licence', { id }, { endsAt: endsAt * 1000, metric: 'LicenceDays' })
}
