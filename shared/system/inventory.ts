import { answer, type Call, type CallOutcome, dataAnswer, keyListAnswer } from '../api/call.ts'
import { type listFields, readPageParameters, selectPage } from '../api/listing.ts'
import { formatTime } from '../values/time.ts'

/** Handles GET sys/ha-status. A cluster has no nodes, so it reports itself as the only active node. */
export const showHaStatus = (call: Call): CallOutcome => {
  const { deployment } = call.ports
  const scheme = deployment.plainEndpoints ? 'http' : 'https'
  const asked = call.request.domain === '' ? '' : `${scheme}://${call.request.domain}`
  const address = deployment.apiAddress || asked
  const node = {
    hostname: call.cluster.record.name,
    api_address: address,
    cluster_address: address,
    active_node: true,
    last_echo: null,
    version: deployment.apiVersion,
    echo_duration_ms: 0,
    clock_skew_ms: 0,
    replication_primary_canary_age_ms: 0,
  }
  return answer(dataAnswer({ nodes: [node] }))
}

/** Handles LIST sys/version-history: returns the announced version, since the initialisation. Earlier versions are not recorded. */
export const showVersionHistory = (call: Call<typeof listFields>): CallOutcome => {
  const { apiVersion } = call.ports.deployment
  const installed = formatTime(call.cluster.record.initialisedAt)
  const entry = { build_date: '', previous_version: null, timestamp_installed: installed }
  const names = selectPage([apiVersion], readPageParameters(call.parameters))
  return answer(keyListAnswer(names, Object.fromEntries(names.map(name => [name, entry]))))
}
