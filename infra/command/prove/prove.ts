import { sendRequest } from '../ask.ts'
import type { ApiConnection, CommandEnvironment } from '../connection.ts'
import { CommandEnded, type ExitName } from '../ended.ts'
import { type openProveAccount, type ProveAccount, waitForMs } from './account.ts'
import {
  createProveJournal,
  journalFolder,
  journalPath,
  listJournaledRuns,
  type ProveJournal,
  reopenProveJournal,
} from './journal.ts'
import {
  createRunName,
  isPeerPart,
  isRunName,
  type ProvePart,
  peerParts,
  proveParts,
  stackNameInRun,
} from './names.ts'
import { createPace, RunEnded } from './pace.ts'
import { describeCleanup, describePlan } from './plan.ts'
import { formatUsd, priceAfter, proveBounds } from './prices.ts'
import { completeRows, type ProbeResults } from './probes.ts'
import { type ReleaseFiles, readReleaseFiles } from './release-files.ts'
import { formatReport, formatReportJson, maskAccounts, type ProveReport } from './report.ts'
import { refuseExistingStacks, runProof } from './run.ts'
import { deleteStackOfRun, type Remains, tearDownRun } from './teardown.ts'

/** Options of `cloud-auth prove`. */
export interface ProveOptions {
  region: string | undefined
  /** the other region of a run in two regions */
  peerRegion: string | undefined
  profile: string | undefined
  release: string | undefined
  limit: string | undefined
  subnet: string | undefined
  isDry: boolean
  isCleanup: boolean
  json: boolean
  showsAccount: boolean
  /** the run to clean up */
  words: readonly string[]
}

export interface ProveTools {
  environment: CommandEnvironment
  connection: ApiConnection
  print(text: string): void
  say(text: string): void
  confirm(question: string): Promise<boolean>
  /** calls a function at each SIGINT, SIGTERM and SIGHUP, in place of the process's end */
  onSignal(called: (signal: string) => void): void
  open: typeof openProveAccount
  /** returns the address at which the base URL of an API is reached */
  reach(address: string): string
  /** returns the address at which the other cluster reaches an API */
  linkTo(address: string): string
}

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

/** Runs `cloud-auth prove`. @returns the exit */
export async function prove(options: ProveOptions, tools: ProveTools): Promise<ExitName> {
  if (options.isCleanup) return cleanUp(options, tools)
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
  const parts = place.peer === undefined ? proveParts : [...proveParts, ...peerParts]
  await refuseExistingStacks(run, parts, place.cloudOf)
  return proveRun({ run, subnet, release, limitUsd }, place, options, tools)
}

/** The account of a run, in one or two regions. */
interface ProvePlace {
  region: string
  account: ProveAccount
  peer: { region: string; account: ProveAccount } | undefined
  cloudOf(part: ProvePart): ProveAccount['cloud']
}

/** Opens the account in the regions of a run. @throws CommandEnded for regions that cannot be used together */
async function openPlace(
  { region, peerRegion }: Partial<Record<'region' | 'peerRegion', string | undefined>>,
  profile: string | undefined,
  { environment, connection, open }: ProveTools,
): Promise<ProvePlace> {
  if (peerRegion !== undefined && peerRegion === region)
    throw new CommandEnded('usage', '--peer-region must be another region than --region')
  const account = await open(region, profile, environment, connection)
  const other =
    peerRegion === undefined ? undefined : await open(peerRegion, profile, environment, connection)
  const peer =
    peerRegion === undefined || other === undefined ? undefined : { region: peerRegion, account: other }
  return {
    region: region ?? '',
    account,
    peer,
    cloudOf: part => (isPeerPart(part) && peer ? peer.account : account).cloud,
  }
}

/** Returns the regions and the account of a run, as its journal and its report name them. */
const toPlaceNames = ({ region, peer, account }: ProvePlace) => ({
  region,
  ...(peer === undefined ? {} : { peerRegion: peer.region }),
  account: account.id,
})

interface StartedRun {
  run: string
  subnet: string | undefined
  release: ReleaseFiles
  limitUsd: number
}

/** The waits of a teardown, which signals do not end. */
const teardownClock = { sleep: async (ms: number) => void (await waitForMs(ms)), now: Date.now }

async function tearDown(
  run: string,
  parts: readonly ProvePart[],
  { cloudOf }: ProvePlace,
  journal: ProveJournal,
  { say }: ProveTools,
): Promise<Remains[]> {
  const remains = await tearDownRun(run, parts, { cloudOf, journal, say, ...teardownClock })
  journal.close()
  return remains
}

/** Runs the proof, tears it down however it ends, and prints the report. */
async function proveRun(
  { run, subnet, release, limitUsd }: StartedRun,
  place: ProvePlace,
  options: ProveOptions,
  tools: ProveTools,
): Promise<ExitName> {
  const { environment, connection, say } = tools
  const { account, peer, cloudOf } = place
  const regions = peer === undefined ? 1 : 2
  const ending = new AbortController()
  tools.onSignal(signal => {
    if (ending.signal.aborted)
      say(`The stacks are being deleted. If you kill this process, run cloud-auth prove --cleanup ${run}`)
    else say(`${signal}: the run stops and deletes its stacks`)
    ending.abort(signal)
  })
  const journal = createProveJournal(journalFolder(environment), {
    run,
    ...toPlaceNames(place),
    pid: process.pid,
  })
  const pace = createPace({ limitUsd, regions, signal: ending.signal, now: Date.now, wait: waitForMs })
  const results: ProbeResults = { rows: [], measured: {} }
  const settings = { run, peerRegion: undefined, ...toPlaceNames(place), subnet, release }
  const made: ProvePart[] = []
  const ports = {
    cloudOf,
    connection,
    journal: {
      ...journal,
      makes: (part: ProvePart) => {
        journal.makes(part)
        made.push(part)
      },
    },
    pace,
    say,
    request: (base: string, ...[path, asking]: [string, Parameters<typeof sendRequest>[2]]) =>
      sendRequest(base, path, asking, connection),
    reach: tools.reach,
    linkTo: tools.linkTo,
    callStsForGlobalHost: account.callStsForGlobalHost,
    remove: async (parts: readonly ProvePart[]) => {
      for (const part of parts) {
        say(`deleting ${stackNameInRun(run, part)}`)
        const why = await deleteStackOfRun(run, part, { cloudOf, say, ...teardownClock })
        if (why !== undefined) throw new Error(why)
        journal.removed(part)
      }
    },
  }
  const fault = await runProof(settings, ports, results).then(
    () => undefined,
    (error: Error) => error,
  )
  if (fault !== undefined) say(`the run stops: ${fault.message}`)
  const remains = await tearDown(run, made, place, journal, tools)
  const report: ProveReport = {
    run,
    release: release.version,
    ...toPlaceNames(place),
    ...(fault === undefined ? {} : { stopped: fault.message }),
    rows: completeRows(results.rows),
    measured: results.measured,
    minutes: pace.elapsed() / 60_000,
    usd: priceAfter(pace.elapsed(), regions),
    remains,
  }
  printReport(report, options, tools)
  return decideProveExit(report, fault)
}

function printReport(report: ProveReport, { json, showsAccount }: ProveOptions, { print }: ProveTools): void {
  const text = json ? formatReportJson(report) : formatReport(report)
  print(showsAccount ? text : maskAccounts(text))
}

/** Returns the exit of a run. */
function decideProveExit({ rows, remains }: Pick<ProveReport, 'rows' | 'remains'>, fault?: Error): ExitName {
  if (fault instanceof RunEnded && fault.signal !== undefined)
    return fault.signal === 'SIGINT' ? 'interrupted' : 'terminated'
  if (fault !== undefined || remains.some(one => one.ends === undefined)) return 'refused'
  return rows.some(row => row.result === 'broken') ? 'unwell' : 'done'
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Deletes what the journals of runs name, whose processes have ended. */
async function cleanUp(
  { words, profile, showsAccount, isDry }: ProveOptions,
  tools: ProveTools,
): Promise<ExitName> {
  const { environment, say, confirm, print } = tools
  const folder = journalFolder(environment)
  const [named, ...more] = words
  if (more.length > 0 || (named !== undefined && !isRunName(named)))
    throw new CommandEnded('usage', '--cleanup takes the name of one run: eight hexadecimal digits')
  const runs = named === undefined ? listJournaledRuns(folder) : [named]
  if (runs.length === 0) say(`No run has a journal in ${folder}`)
  const remains: Remains[] = []
  for (const run of runs) {
    const { state, journal } = reopenProveJournal(folder, run)
    if (isAlive(state.pid) && state.pid !== process.pid)
      throw new CommandEnded(
        'refused',
        `run ${run} is still working in the process ${state.pid}. End that process first, for example by Ctrl-C`,
      )
    const shown = describeCleanup(state)
    say(showsAccount ? shown : maskAccounts(shown))
    if (isDry) continue
    const place = await openPlace(state, profile, tools)
    if (place.account.id !== state.account)
      throw new CommandEnded(
        'refused',
        `the stacks of run ${run} are in another account than these credentials`,
      )
    if (!(await confirm('Delete these stacks?'))) throw new CommandEnded('declined', 'Nothing was deleted')
    remains.push(...(await tearDown(run, state.remaining, place, journal, tools)))
  }
  for (const { what, why, ends } of remains)
    print(`${what}: ${why}${ends === undefined ? '' : `, until ${ends}`}\n`)
  return remains.some(one => one.ends === undefined) ? 'refused' : 'done'
}
