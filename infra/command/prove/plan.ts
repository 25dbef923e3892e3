import type { JournalState } from './journal.ts'
import { proveParts, RUN_TAG, stackNameInRun } from './names.ts'
import { formatUsd, priceAfter, proveBounds, provePrices } from './prices.ts'
import { probes, unaskedClaims } from './probes.ts'
import { KEY_DAYS } from './templates.ts'

interface PlannedRun {
  run: string
  region: string
  account: string
  limitUsd: number
  journal: string
  /** number and size of the archives of the functions' code */
  assets: { count: number; bytes: number }
}

const CONTENTS: Readonly<Record<(typeof proveParts)[number], string>> = {
  assets: 'a private bucket for the code',
  data: 'three tables and a KMS key, without protection',
  api: 'the API, its functions, roles, logs and alarms',
  workers: 'background functions and state machines; the schedules are disabled',
  probe: 'a function and a t4g.nano instance that log in; no address can reach the instance',
}

const HOUR_MS = 3_600_000

/** Describes a run before it starts: what it makes, its price, and what it leaves. */
export function describePlan({ run, region, account, limitUsd, journal, assets }: PlannedRun): string {
  const stacks = proveParts.map(part => `  ${stackNameInRun(run, part).padEnd(36)}${CONTENTS[part]}`)
  const prices = provePrices.map(
    ({ what, once, hourly }) => `  ${(once + hourly).toFixed(4).padStart(8)} USD  ${what}`,
  )
  return `Run ${run} makes these stacks in the account ${account}, region ${region}, with the tag ${RUN_TAG}=${run}:

${stacks.join('\n')}

It uploads ${assets.count} archives (${(assets.bytes / 1e6).toFixed(1)} MB), initialises the cluster, and checks ${Object.keys(probes).length} claims; ${Object.keys(unaskedClaims).length} claims are not asked.

The price of an hour, by list prices of us-east-1:

${prices.join('\n')}
  ${priceAfter(HOUR_MS).toFixed(4).padStart(8)} USD  together

The run takes about 20 minutes. It stops after ${proveBounds.minutes} minutes, or at 80 % of ${formatUsd(limitUsd)}, and then deletes its stacks.
It deletes them too after a failure, Ctrl-C or SIGTERM. After a crash use cloud-auth prove --cleanup ${run}.
KMS deletes the key ${KEY_DAYS} days later. The journal of the run is ${journal}.
`
}

/** Describes a cleanup before it starts. */
export const describeCleanup = ({ run, region, account, remaining }: JournalState): string =>
  `The cleanup deletes these stacks of run ${run} in the account ${account}, region ${region}, if they have its tag:

${remaining.map(part => `  ${stackNameInRun(run, part)}`).join('\n') || '  none'}
`
