// Installs the emulated AWS account under .build/emulator: `node test/deployed/install.ts`. Exit code 0: installed.
// 3: not available on this machine. 1: a package differs from its hash, or another error.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { findNpm } from '../../.config/npm.mjs'
import { checkoutRoot } from '../../infra/checkout.ts'

/** The checked-in files of the emulator. */
const SOURCE = `${checkoutRoot}test/deployed/emulator/`
const HOME = `${checkoutRoot}.build/emulator/`
const STAMP = `${HOME}installed`
const PINNED = ['requirements.txt', 'package.json', 'package-lock.json']

/** The files with which the emulator starts. */
export const emulatorFiles = {
  python: `${HOME}venv/bin/python`,
  start: `${SOURCE}start.py`,
  runtimeClient: `${HOME}node_modules/aws-lambda-ric/index.mjs`,
  nativePart: `${SOURCE}native-part.mjs`,
  names: `${SOURCE}names.mjs`,
}

/** Exit code for a machine without Python, or without access to the packages. */
const UNAVAILABLE = 3
/** Texts with which pip and npm report a file that differs from its hash. */
const MISMATCH = /DO NOT MATCH THE HASHES|EINTEGRITY/

/** Runs a program, and returns why it failed. @throws Error if a package differs from its hash */
function attempt(program: string, words: readonly string[]): string | undefined {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8' })
  if (status === 0) return undefined
  const output = `${error?.message ?? ''}${stdout ?? ''}${stderr ?? ''}`
  if (MISMATCH.test(output)) throw new Error(`a package of the emulator differs from its hash:\n${output}`)
  return `${program} ${words[0]} failed: ${output.trim().split('\n').at(-1)}`
}

function installPackages(): string | undefined {
  mkdirSync(HOME, { recursive: true })
  for (const file of PINNED) writeFileSync(`${HOME}${file}`, readFileSync(`${SOURCE}${file}`))
  const supported = 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 is required")'
  const pip = ['install', '--quiet', '--retries', '1', '--timeout', '20', '--require-hashes', '--no-deps']
  return (
    attempt('python3', ['-c', supported]) ??
    attempt('python3', ['-m', 'venv', `${HOME}venv`]) ??
    attempt(`${HOME}venv/bin/pip`, [...pip, '--only-binary', ':all:', '-r', `${HOME}requirements.txt`]) ??
    attempt(...findNpm(['ci', '--ignore-scripts', '--prefix', HOME]))
  )
}

/**
 * Installs the emulator unless the installed packages are the pinned ones.
 * @returns why the emulator is not available on this machine, or undefined
 * @throws Error if a package differs from its hash
 */
export function installEmulator(): string | undefined {
  const pinned = createHash('sha256')
  for (const file of PINNED) pinned.update(readFileSync(`${SOURCE}${file}`))
  const wanted = pinned.digest('hex')
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return undefined
  rmSync(HOME, { recursive: true, force: true })
  const missing = installPackages()
  if (missing === undefined) writeFileSync(STAMP, wanted)
  return missing
}

/** The report of a run without the emulator. */
export const describeMissingEmulator = (missing: string): string =>
  `NOT SHOWN: THE DEPLOYMENT HAS NOT BEEN TRIED, because the emulated AWS account cannot be installed. ${missing}`

if (import.meta.main) {
  const missing = installEmulator()
  if (missing !== undefined) {
    process.stderr.write(`${describeMissingEmulator(missing)}\n`)
    process.exitCode = UNAVAILABLE
  }
}
