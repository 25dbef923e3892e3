import type { JournalState, PlacedRun } from './journal.ts'
import { listParts, type ProvePart, RUN_TAG, stackNameInRun } from './names.ts'
import { pairProbes } from './pair.ts'
import { podProbes } from './pod.ts'
import { formatUsd, priceAfter, priceOfRow, proveBounds, provePrices } from './prices.ts'
import { probes, unaskedClaims } from './probes.ts'
import { formatRegions } from './report.ts'
import { describeItem } from './teardown.ts'
import { KEY_DAYS } from './templates.ts'

interface PlannedRun extends PlacedRun {
  limitUsd: number
  journal: string
  /** number and size of the archives of the functions' code */
  assets: { count: number; bytes: number }
}

const CONTENTS: Readonly<Record<ProvePart, string>> = {
  assets: 'a private bucket for the code',
  data: 'three tables and a KMS key, without protection',
  api: 'the API, its functions, roles, logs and alarms',
  workers: 'background functions and state machines; the schedules are disabled',
  probe: 'a function and a t4g.nano instance that log in; no address can reach the instance',
  pod: 'a role for the pod, and its association in the EKS cluster',
  'peer-assets': 'the bucket of the other region',
  'peer-data': 'its tables and its KMS key',
  'peer-api': 'its API; deleted before the end, as the loss of a region',
  'peer-workers': 'its background functions; deleted with its API',
}

const HOUR_MS = 3_600_000
const ALL_CLAIMS = Object.keys(probes).length + Object.keys(unaskedClaims).length

const describePod = (run: string, eksCluster: string): string => `

In the EKS cluster ${eksCluster} it makes ${describeItem(run, 'namespace')} with a service account and one Job, whose pod logs in, and deletes the namespace. The pod uses a node of yours: 0.1 CPU and 128 MiB, at most 5 minutes.`

/** Describes a run before it starts: what it makes, its price, and what it leaves. */
export function describePlan(planned: PlannedRun): string {
  const { run, peerRegion, eksCluster, account, limitUsd, journal, assets } = planned
  const [regions, minutes] = peerRegion === undefined ? [1, 20] : [2, 45]
  const tables = [
    probes,
    ...(eksCluster === undefined ? [] : [podProbes]),
    ...(regions === 1 ? [] : [pairProbes]),
  ]
  const checked = tables.flatMap(table => Object.keys(table)).length
  const stacks = listParts(planned).map(part => `  ${stackNameInRun(run, part).padEnd(42)}${CONTENTS[part]}`)
  const prices = provePrices.map(
    row => `  ${priceOfRow(row, HOUR_MS, regions).toFixed(4).padStart(8)} USD  ${row.what}`,
  )
  return `Run ${run} makes these stacks in the account ${account}, ${formatRegions(planned)}, with the tag ${RUN_TAG}=${run}:

${stacks.join('\n')}

It uploads ${assets.count} archives (${(assets.bytes / 1e6).toFixed(1)} MB), initialises ${regions === 1 ? 'the cluster' : 'both clusters'}, and checks ${checked} claims; ${ALL_CLAIMS - checked} claims are not asked.${eksCluster === undefined ? '' : describePod(run, eksCluster)}

The price of an hour, by list prices of us-east-1:

${prices.join('\n')}
  ${priceAfter(HOUR_MS, regions).toFixed(4).padStart(8)} USD  together

The run takes about ${minutes} minutes. It stops after ${proveBounds.minutes} minutes, or at 80 % of ${formatUsd(limitUsd)}, and then deletes its stacks.
It deletes them too after a failure, Ctrl-C or SIGTERM. After a crash use cloud-auth prove --cleanup ${run}.
KMS deletes the key ${KEY_DAYS} days later. The journal of the run is ${journal}.
`
}

/** Describes a cleanup before it starts. */
export const describeCleanup = (state: JournalState): string =>
  `The cleanup deletes these stacks${state.eksCluster === undefined ? '' : `, and the namespace in the EKS cluster ${state.eksCluster},`} of run ${state.run} in the account ${state.account}, ${formatRegions(state)}, if they have its tag:

${state.remaining.map(item => `  ${describeItem(state.run, item)}`).join('\n') || '  none'}
`
