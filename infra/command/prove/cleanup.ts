import { isProcessRunning } from '../../local/os/running.ts'
import { CommandEnded, type ExitName } from '../ended.ts'
import { waitForMs } from './account.ts'
import {
  type JournalState,
  journalFolder,
  listJournaledRuns,
  type ProveJournal,
  reopenProveJournal,
} from './journal.ts'
import { removeKeptRun } from './keep.ts'
import { isRunName, type ProveItem } from './names.ts'
import { openPlace, type ProvePlace } from './place.ts'
import { describeCleanup } from './plan.ts'
import { maskAccounts } from './report.ts'
import { type Remains, tearDownRun } from './teardown.ts'
import type { ProveOptions, ProveTools } from './tools.ts'

/** The waits of a teardown, which signals do not end. */
export const teardownClock = { sleep: async (ms: number) => void (await waitForMs(ms)), now: Date.now }

/** Deletes what of a run may exist, and the secrets of the run. @returns what is left */
export async function tearDown(
  run: string,
  items: readonly ProveItem[],
  { cloudOf, findKubernetes }: ProvePlace,
  journal: ProveJournal,
  { say, environment }: ProveTools,
): Promise<Remains[]> {
  const remains = await tearDownRun(run, items, { cloudOf, findKubernetes, journal, say, ...teardownClock })
  journal.close()
  removeKeptRun(journalFolder(environment), run)
  return remains
}

/**
 * Opens the journal of a run whose process has ended.
 * @throws CommandEnded `refused` if the process still works
 */
export function openEndedRun(run: string, folder: string): { state: JournalState; journal: ProveJournal } {
  const opened = reopenProveJournal(folder, run)
  const { pid } = opened.state
  if (isProcessRunning(pid) && pid !== process.pid)
    throw new CommandEnded(
      'refused',
      `run ${run} is still working in the process ${pid}. End that process first, for example by Ctrl-C`,
    )
  return opened
}

/** Opens the account of a journal. @throws CommandEnded `refused` if the credentials are of another account */
export async function openPlaceOf(
  state: JournalState,
  { profile }: ProveOptions,
  tools: ProveTools,
): Promise<ProvePlace> {
  const place = await openPlace(state, profile, tools)
  if (place.account.id !== state.account)
    throw new CommandEnded(
      'refused',
      `the stacks of run ${state.run} are in another account than these credentials`,
    )
  return place
}

/** Deletes what the journals of runs name, whose processes have ended. */
export async function cleanUp(options: ProveOptions, tools: ProveTools): Promise<ExitName> {
  const { words, showsAccount, isDry } = options
  const { environment, say, confirm, print } = tools
  const folder = journalFolder(environment)
  const [named, ...more] = words
  if (more.length > 0 || (named !== undefined && !isRunName(named)))
    throw new CommandEnded('usage', '--cleanup takes the name of one run: eight hexadecimal digits')
  const runs = named === undefined ? listJournaledRuns(folder) : [named]
  if (runs.length === 0) say(`No run has a journal in ${folder}`)
  const remains: Remains[] = []
  for (const run of runs) {
    const { state, journal } = openEndedRun(run, folder)
    const shown = describeCleanup(state)
    say(showsAccount ? shown : maskAccounts(shown))
    if (isDry) continue
    const place = await openPlaceOf(state, options, tools)
    if (!(await confirm('Delete these stacks?'))) throw new CommandEnded('declined', 'Nothing was deleted')
    remains.push(...(await tearDown(run, state.remaining, place, journal, tools)))
  }
  for (const { what, why, ends } of remains)
    print(`${what}: ${why}${ends === undefined ? '' : `, until ${ends}`}\n`)
  return remains.some(one => one.ends === undefined) ? 'refused' : 'done'
}
