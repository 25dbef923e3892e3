import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { isObject, parseJson } from '../../../shared/values/json.ts'
import type { CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { isOwnFile, OWNER_ONLY } from '../own-file.ts'
import { findItem, isRunName, nameInRun, type ProveItem } from './names.ts'

/*
 * The journal of a run names each stack, and the namespace in the EKS cluster, before the run makes them, so that after
 * a crash a cleanup finds them. Each line is one JSON object: first the run, then `makes` and `removed` with the name
 * of a stack or of the namespace, and `resumes` with the process that works on a kept run.
 */

/** A run, and the place of what it makes. */
export interface PlacedRun {
  run: string
  region: string
  /** the other region of a run in two regions */
  peerRegion?: string
  /** name of the EKS cluster in which the run makes a namespace */
  eksCluster?: string
  /** account in which the run makes its stacks */
  account: string
}

/** The first line of a journal. */
export interface JournaledRun extends PlacedRun {
  /** process of the run, or the process that resumes the run */
  pid: number
}

/** The state of a run, as its journal tells it. */
export interface JournalState extends JournaledRun {
  /** what may exist, in the order in which the run made it */
  remaining: ProveItem[]
}

/** A journal that is open for writing. Each call returns after the disk has the line. */
export interface ProveJournal {
  readonly path: string
  makes(item: ProveItem): void
  removed(item: ProveItem): void
  /** names the process that works on the run from now on */
  resumes(pid: number): void
  /** deletes the journal, because nothing of the run is left */
  end(): void
  close(): void
}

/** Returns the folder of journals: `cloud-auth` in the user's folder for state. */
export function journalFolder(environment: CommandEnvironment): string {
  const home = environment['HOME']
  const state = environment['XDG_STATE_HOME'] || (home && `${home}/.local/state`)
  if (!state?.startsWith('/'))
    throw new CommandEnded('usage', 'prove needs HOME or XDG_STATE_HOME, an absolute path, for its journal')
  return `${state}/cloud-auth`
}

export const journalPath = (folder: string, run: string): string => `${folder}/prove-${run}.jsonl`

const isAccount = (text: unknown): text is string => typeof text === 'string' && /^\d{12}$/.test(text)
export const isRegionName = (text: unknown): text is string =>
  typeof text === 'string' && /^[a-z]{2}(-[a-z]+)+-\d+$/.test(text)

/** Reports whether a text is a name that EKS accepts for a cluster. */
export const isEksClusterName = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$/.test(text)

const isPid = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

/**
 * Reads the text of a journal. A last line without line break is ignored: the process ended while it wrote the line,
 * so it did not make the stack.
 * @returns undefined unless each line is one that a run writes
 */
export function parseProveJournal(text: string): JournalState | undefined {
  const [first, ...lines] = text.split('\n').slice(0, -1).map(parseJson)
  if (!isObject(first)) return undefined
  const { run, region, peerRegion, eksCluster, account, pid } = first
  if (!isRunName(run) || !isRegionName(region) || !isAccount(account) || !isPid(pid)) return undefined
  if (peerRegion !== undefined && !isRegionName(peerRegion)) return undefined
  if (eksCluster !== undefined && !isEksClusterName(eksCluster)) return undefined
  const places = {
    ...(peerRegion === undefined ? {} : { peerRegion }),
    ...(eksCluster === undefined ? {} : { eksCluster }),
  }
  const remaining: ProveItem[] = []
  let worker = pid
  for (const line of lines) {
    if (!isObject(line)) return undefined
    const resuming = line['resumes']
    if (isPid(resuming)) {
      worker = resuming
      continue
    }
    const [made, removed] = [line['makes'], line['removed']].map(name => findItem(run, places, name))
    if ((made === undefined) === (removed === undefined)) return undefined
    if (made && !remaining.includes(made)) remaining.push(made)
    if (removed && remaining.includes(removed)) remaining.splice(remaining.indexOf(removed), 1)
  }
  return { run, region, account, pid: worker, remaining, ...places }
}

function openJournal(path: string, file: number, { run }: JournaledRun): ProveJournal {
  const write = (line: object): void => {
    writeSync(file, `${JSON.stringify(line)}\n`)
    fsyncSync(file)
  }
  return {
    path,
    makes: item => write({ makes: nameInRun(run, item) }),
    removed: item => write({ removed: nameInRun(run, item) }),
    resumes: pid => write({ resumes: pid }),
    end: () => rmSync(path, { force: true }),
    close: () => closeSync(file),
  }
}

/** Creates the journal of a new run, for the user alone. @throws CommandEnded if the journal exists already */
export function createProveJournal(folder: string, run: JournaledRun): ProveJournal {
  const path = journalPath(folder, run.run)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const file = openSync(path, 'ax', OWNER_ONLY)
    writeSync(file, `${JSON.stringify(run)}\n`)
    fsyncSync(file)
    return openJournal(path, file, run)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandEnded('refused', `the journal ${path} cannot be created (${code}). Nothing was made`)
  }
}

/**
 * Reads the journal of a run, and opens it for further lines.
 * @throws CommandEnded if the file is missing, can be read or written by others, or is no journal of this run
 */
export function reopenProveJournal(
  folder: string,
  run: string,
): { state: JournalState; journal: ProveJournal } {
  const path = journalPath(folder, run)
  const refuse = (why: string) => new CommandEnded('refused', `the journal ${path} ${why}`)
  let file: number
  try {
    file = openSync(path, 'r+')
  } catch (error) {
    throw refuse(`cannot be opened (${(error as NodeJS.ErrnoException).code})`)
  }
  const text = readFileSync(file, 'utf8')
  const state = parseProveJournal(text)
  const fault = !isOwnFile(file)
    ? 'belongs to another user, or others can read it; nothing was deleted'
    : state?.run !== run && 'is not the journal of this run; nothing was deleted'
  if (fault || !state) {
    closeSync(file)
    throw refuse(fault || 'is empty')
  }
  const whole = Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1))
  ftruncateSync(file, whole)
  closeSync(file)
  return { state, journal: openJournal(path, openSync(path, 'a'), state) }
}

/** Lists the runs that have a journal. */
export function listJournaledRuns(folder: string): string[] {
  try {
    return readdirSync(folder)
      .map(name => /^prove-([0-9a-f]{8})\.jsonl$/.exec(name)?.[1])
      .filter(run => run !== undefined)
      .sort()
  } catch {
    return []
  }
}
