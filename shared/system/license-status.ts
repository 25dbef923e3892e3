import { answer, type Call, type CallOutcome, dataAnswer } from '../api/call.ts'
import { type Licence, readLicence } from '../api/licence.ts'
import type { Deployment, Ports } from '../ports.ts'
import { formatTime } from '../values/time.ts'
import { logDaysUntilExpiry } from '../watching/notice.ts'

/** Handles GET sys/license/status: returns the licence in the deployment's settings, or why it cannot be used. */
export function showLicenseStatus({ ports: { deployment }, now }: Call): CallOutcome {
  const licensing = readLicence(deployment.license)
  if (!licensing.ok)
    return answer(
      dataAnswer({ autoloading_used: false, autoloaded: null, persisted_autoload: null }, [licensing.fault]),
    )
  const shown = shownOf(licensing.value)
  const warnings = isEnded(licensing.value, now) ? ['the licence has expired'] : []
  return answer(
    dataAnswer({ autoloading_used: true, autoloaded: shown, persisted_autoload: shown }, warnings),
  )
}

/**
 * Handles GET sys/license/features, for user interfaces. An expired licence still lists its features, because running replication
 * continues.
 */
export function showLicenseFeatures({ ports: { deployment } }: Call): CallOutcome {
  const licensing = readLicence(deployment.license)
  return answer(dataAnswer({ features: !licensing.ok ? [] : licensing.value.features }))
}

const isEnded = ({ endsAt }: Licence, now: number): boolean => endsAt * 1000 <= now

// an expired licence stops nothing that runs, so `terminated` is always false
const shownOf = ({ id, features, startsAt, endsAt }: Licence) => ({
  license_id: id,
  features,
  start_time: formatTime(startsAt * 1000),
  expiration_time: formatTime(endsAt * 1000),
  terminated: false,
})

/** Returns the licence part of health; undefined if there is no licence. */
export function describeLicenceForHealth({ license }: Deployment) {
  const licensing = readLicence(license)
  return !licensing.ok
    ? undefined
    : { state: 'autoloaded', expiry_time: formatTime(licensing.value.endsAt * 1000), terminated: false }
}

/** Logs the remaining days of the licence, as a warning in the last thirty days and after expiry. */
export function logLicenceExpiry({
  deployment,
  clock,
  log,
}: Pick<Ports, 'deployment' | 'clock' | 'log'>): void {
  const read = readLicence(deployment.license)
  if (!read.ok) return
  const { id, endsAt } = read.value
  logDaysUntilExpiry({ clock, log }, 'the licence', { id }, { endsAt: endsAt * 1000, metric: 'LicenceDays' })
}
