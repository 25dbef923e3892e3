import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { findNpm } from '../../../.config/npm.mjs'
import { checkoutRoot } from '../../../infra/checkout.ts'

/** Parts of the package that run on an older Node than the checkout. */
type Part = 'command' | 'construct'

/** Folder with the pinned packages of the oldest Nodes. */
export const oldestNodesSource = `${checkoutRoot}test/support/nodes/`
const HOME = `${checkoutRoot}.build/nodes/`

const programOf = (part: Part): string =>
  `${HOME}node_modules/${part}-${process.platform}-${process.arch}/bin/node`

const lockIn = (folder: string): string => readFileSync(`${folder}package-lock.json`, 'utf8')
const isInstalled = (program: string): boolean =>
  existsSync(program) && lockIn(HOME) === lockIn(oldestNodesSource)

/** Installs the pinned packages. @throws Error if a package differs from its hash */
function install(): void {
  mkdirSync(HOME, { recursive: true })
  cpSync(oldestNodesSource, HOME, { recursive: true })
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', HOME]
  const { stderr } = spawnSync(...findNpm(words), { cwd: HOME, encoding: 'utf8' })
  if (stderr?.includes('EINTEGRITY')) throw new Error(`a Node differs from its hash:\n${stderr}`)
}

/**
 * Returns the oldest Node that a part of the package supports.
 * @returns the program; undefined, with a report, on a machine that cannot install this Node
 */
export function findOldestNode(part: Part): string | undefined {
  const program = programOf(part)
  if (!isInstalled(program)) install()
  if (isInstalled(program)) return program
  process.stderr.write(
    `NOT SHOWN: THE ${part.toUpperCase()} HAS NOT RUN ON ITS OLDEST NODE, because this Node cannot be installed. The tests use this Node.\n`,
  )
  return undefined
}
