import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isObject, parseJson } from '../../../shared/values/json.ts'
import { CommandEnded } from '../ended.ts'
import { isOwnFile, OWNER_ONLY } from '../own-file.ts'
import { isRunName } from './names.ts'

/** What a later process needs for the probes of a run. The file with it has secrets, so only its owner can read the file. */
export interface KeptRun {
  run: string
  /** root token of the run's cluster */
  root: string
  /** version of the release */
  release: string
  /** start of the run, epoch milliseconds */
  started: number
}

export const keptPath = (folder: string, run: string): string => `${folder}/prove-${run}.secrets.json`

/** Writes the file of a kept run. @throws CommandEnded if the file exists already */
export function writeKeptRun(folder: string, kept: KeptRun): void {
  const path = keptPath(folder, kept.run)
  try {
    writeFileSync(path, `${JSON.stringify(kept)}\n`, { flag: 'wx', mode: OWNER_ONLY })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandEnded('refused', `the file ${path} cannot be created (${code})`)
  }
}

/** Reads the file of a kept run. @throws CommandEnded if others can read the file, or the file is malformed */
export function readKeptRun(folder: string, run: string): KeptRun {
  const path = keptPath(folder, run)
  const refuse = (why: string) => new CommandEnded('refused', `the file ${path} ${why}`)
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    throw refuse(
      `cannot be opened (${(error as NodeJS.ErrnoException).code}). Only runs with --keep have this file`,
    )
  }
  try {
    if (!isOwnFile(file)) throw refuse('belongs to another user, or others can read it')
    const kept = parseJson(readFileSync(file, 'utf8'))
    const { root, release, started } = isObject(kept) ? kept : {}
    const isWhole = typeof root === 'string' && typeof release === 'string' && Number.isSafeInteger(started)
    if (!isWhole || !isObject(kept) || kept['run'] !== run || !isRunName(run)) throw refuse('is malformed')
    return { run, root, release, started: Number(started) }
  } finally {
    closeSync(file)
  }
}

/** Deletes the file of a kept run, if the run has the file. */
export const removeKeptRun = (folder: string, run: string): void =>
  rmSync(keptPath(folder, run), { force: true })
