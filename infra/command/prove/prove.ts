import { sendRequest } from '../ask.ts'
import { CommandEnded, type ExitName } from '../ended.ts'
import { waitForMs } from './account.ts'
import { cleanUp, openEndedRun, openPlaceOf, tearDown, teardownClock } from './cleanup.ts'
import {
  createProveJournal,
  isEksClusterName,
  journalFolder,
  journalPath,
  type ProveJournal,
} from './journal.ts'
import { keptPath, readKeptRun, writeKeptRun } from './keep.ts'
import { checkRights } from './kubernetes.ts'
import { createRunName, isRunName, listParts, type ProveItem } from './names.ts'
import { createPace, findSignalEnd, RunEnded } from './pace.ts'
import { openPlace, type ProvePlace, toPlaceNames } from './place.ts'
import { describePlan } from './plan.ts'
import { formatUsd, priceAfter, proveBounds } from './prices.ts'
import { completeRows, type ProbeResults } from './probes.ts'
import { readReleaseFiles } from './release-files.ts'
import { formatReport, formatReportJson, maskAccounts, type ProveReport } from './report.ts'
import { type ProvePorts, type ProveSettings, refuseExistingStacks, runProof } from './run.ts'
import { deleteItemOfRun, describeItem, type Remains } from './teardown.ts'
import type { ProveOptions, ProveTools } from './tools.ts'

const SUBNET = /^subnet-[0-9a-f]{8,17}$/

/** @throws CommandEnded `usage` */
export function readLimit(text: string | undefined, regions = 1): number {
  const limit = text === undefined ? proveBounds.usd : Number(text)
  if (!(limit > 0 && limit <= proveBounds.usd))
    throw new CommandEnded('usage', `--limit must be a number of USD, at most ${proveBounds.usd}`)
  const least = priceAfter(0, regions) / 0.8
  if (limit < least)
    throw new CommandEnded('usage', `--limit must be at least ${formatUsd(least)}, the price of a run`)
  return limit
}

/** @throws CommandEnded `usage` */
function checkEksOption({ eksCluster, isCleanup, isResume }: ProveOptions): void {
  if (isCleanup || isResume)
    throw new CommandEnded(
      'usage',
      '--eks-cluster cannot be used with --cleanup or --resume, because the journal names the cluster',
    )
  if (!isEksClusterName(eksCluster))
    throw new CommandEnded('usage', '--eks-cluster must be the name of an EKS cluster, such as shop-1')
}

/** @throws CommandEnded `refused` unless the EKS cluster of a run exists and allows what the run needs */
async function checkEksCluster(run: string, name: string, place: ProvePlace): Promise<void> {
  const access = await place.findKubernetes()
  if (access === undefined)
    throw new CommandEnded('refused', `no EKS cluster has the name ${name}. Nothing was made`)
  await checkRights(run, name, access)
}

/** Runs `cloud-auth prove`. @returns the exit */
export async function prove(options: ProveOptions, tools: ProveTools): Promise<ExitName> {
  if (options.eksCluster !== undefined) checkEksOption(options)
  if (options.isCleanup) return cleanUp(options, tools)
  if (options.keeps && options.peerRegion !== undefined)
    throw new CommandEnded(
      'usage',
      '--keep cannot be used with --peer-region, because the run loses a cluster',
    )
  if (options.isResume) return resume(options, tools)
  const { subnet, words, isDry } = options
  if (words.length > 0) throw new CommandEnded('usage', `prove takes no argument: ${words[0]}`)
  if (subnet !== undefined && !SUBNET.test(subnet))
    throw new CommandEnded('usage', '--subnet must be the id of a subnet, such as subnet-0123456789abcdef0')
  if (options.release === undefined)
    throw new CommandEnded(
      'usage',
      '--release must name the folder of a release, with SHA256SUMS and the archive of the templates',
    )
  const limitUsd = readLimit(options.limit, options.peerRegion === undefined ? 1 : 2)
  const release = readReleaseFiles(options.release)
  const { environment, say, confirm } = tools
  const folder = journalFolder(environment)
  const place = await openPlace(options, options.profile, tools)
  const run = createRunName()
  if (place.eksCluster !== undefined) await checkEksCluster(run, place.eksCluster, place)
  const assets = {
    count: release.assets.length,
    bytes: release.assets.reduce((sum, one) => sum + one.bytes.length, 0),
  }
  const plan = {
    run,
    ...toPlaceNames(place),
    limitUsd,
    journal: journalPath(folder, run),
    assets,
  }
  const shown = options.showsAccount ? describePlan(plan) : maskAccounts(describePlan(plan))
  if (isDry) {
    tools.print(`${shown}Nothing was made, because of --dry-run.\n`)
    return 'done'
  }
  say(shown)
  if (!(await confirm('Make these stacks?'))) throw new CommandEnded('declined', 'Nothing was made')
  const names = toPlaceNames(place)
  await refuseExistingStacks(run, listParts(names), place.cloudOf)
  const started: StartedRun = {
    settings: { run, ...names, subnet, source: { kind: 'release', release } },
    journal: createProveJournal(folder, { run, ...names, pid: process.pid }),
    made: [],
    release: release.version,
    limitUsd,
    started: Date.now(),
  }
  return proveRun(started, place, options, tools)
}

interface StartedRun {
  settings: ProveSettings
  journal: ProveJournal
  /** what exists, in the order in which the run made it */
  made: ProveItem[]
  /** version of the release */
  release: string
  limitUsd: number
  /** start of the run, epoch milliseconds */
  started: number
}

/** Lets SIGINT and other signals end the run. @returns the signal of the end */
function listenForEnd(run: string, { say, onSignal }: ProveTools): AbortSignal {
  const ending = new AbortController()
  onSignal(signal => {
    if (ending.signal.aborted)
      say(`The stacks are being deleted. If you kill this process, run cloud-auth prove --cleanup ${run}`)
    else say(`${signal}: the run stops and deletes its stacks`)
    ending.abort(signal)
  })
  return ending.signal
}

/** Describes the stacks that `--keep` leaves. */
const describeKept = (run: string, folder: string): Remains => ({
  what: `the stacks of run ${run}`,
  why: `--keep. ${keptPath(folder, run)} has the root token. Delete all by cloud-auth prove --cleanup ${run}`,
})

/** Repeats the probes of a kept run. */
async function resume(options: ProveOptions, tools: ProveTools): Promise<ExitName> {
  const [run, ...more] = options.words
  if (!isRunName(run) || more.length > 0 || options.release !== undefined)
    throw new CommandEnded('usage', '--resume takes the name of one run that --keep has kept, and no release')
  const limitUsd = readLimit(options.limit)
  const folder = journalFolder(tools.environment)
  const { root, release, started } = readKeptRun(folder, run)
  const { state, journal } = openEndedRun(run, folder)
  const place = await openPlaceOf(state, options, tools)
  journal.resumes(process.pid)
  const settings: ProveSettings = {
    run,
    ...toPlaceNames(place),
    subnet: undefined,
    source: { kind: 'kept', root },
  }
  const resumed = { settings, journal, made: state.remaining, release, limitUsd, started }
  return proveRun(resumed, place, options, tools)
}

/**
 * Runs the proof, and prints the report. Deletes the stacks however the run ends, unless the run is complete and the
 * user keeps them.
 */
async function proveRun(
  { settings, journal, made, release, limitUsd, started }: StartedRun,
  place: ProvePlace,
  options: ProveOptions,
  tools: ProveTools,
): Promise<ExitName> {
  const { environment, connection, say } = tools
  const { account, peer, cloudOf, findKubernetes } = place
  const { run } = settings
  const folder = journalFolder(environment)
  const regions = peer === undefined ? 1 : 2
  const signal = listenForEnd(run, tools)
  const pace = createPace({ limitUsd, regions, signal, now: Date.now, wait: waitForMs })
  const results: ProbeResults = { rows: [], measured: {} }
  const ports: ProvePorts = {
    cloudOf,
    connection,
    journal: {
      ...journal,
      makes: item => {
        journal.makes(item)
        made.push(item)
      },
    },
    pace,
    say,
    request: (base, path, asking) => sendRequest(base, path, asking, connection),
    reach: tools.reach,
    linkTo: tools.linkTo,
    callStsForGlobalHost: account.callStsForGlobalHost,
    findKubernetes,
    remove: async items => {
      for (const item of items) {
        const why = await deleteItemOfRun(run, item, { cloudOf, findKubernetes, say, ...teardownClock })
        if (why !== undefined) throw new Error(`${describeItem(run, item)} is left: ${why}`)
        journal.removed(item)
        if (made.includes(item)) made.splice(made.indexOf(item), 1)
      }
    },
    initialised: root => {
      if (options.keeps) writeKeptRun(folder, { run, root, release, started })
    },
  }
  const fault = await runProof(settings, ports, results).then(
    // a signal during the last step
    () => findSignalEnd(signal),
    (error: Error) => error,
  )
  if (fault !== undefined) say(`the run stops: ${fault.message}`)
  const isKept = options.keeps && fault === undefined
  const remains = isKept ? [describeKept(run, folder)] : await tearDown(run, made, place, journal, tools)
  const report: ProveReport = {
    run,
    release,
    ...toPlaceNames(place),
    ...(fault === undefined ? {} : { stopped: fault.message }),
    rows: completeRows(results.rows),
    measured: results.measured,
    minutes: pace.elapsed() / 60_000,
    usd: priceAfter(Date.now() - started, regions),
    remains,
  }
  printReport(report, options, tools)
  return decideProveExit(report, isKept, fault)
}

function printReport(report: ProveReport, { json, showsAccount }: ProveOptions, { print }: ProveTools): void {
  const text = json ? formatReportJson(report) : formatReport(report)
  print(showsAccount ? text : maskAccounts(text))
}

/** Returns the exit of a run. */
function decideProveExit(
  { rows, remains }: Pick<ProveReport, 'rows' | 'remains'>,
  isKept: boolean,
  fault: Error | undefined,
): ExitName {
  if (fault instanceof RunEnded && fault.signal !== undefined)
    return fault.signal === 'SIGINT' ? 'interrupted' : 'terminated'
  const isLeft = !isKept && remains.some(one => one.ends === undefined)
  if (fault !== undefined || isLeft) return 'refused'
  return rows.some(row => row.result === 'broken') ? 'unwell' : 'done'
}
