import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { checkoutRoot } from '../../../infra/checkout.ts'

// The example programs need packages of their language. A language that the machine lacks, or whose packages
// cannot be fetched, is reported as NOT SHOWN.

const EXAMPLES = `${checkoutRoot}docs/examples`
const FETCH_MS = 240_000

/** Variables of the shell that runs a language's programs. */
type Variables = Readonly<Record<string, string>>

const execute = promisify(execFile)

/** Runs a program. @returns its output @throws when the program is missing, fails, or takes too long */
const run = async (program: string, args: readonly string[], variables: Variables = {}): Promise<string> => {
  const env = { ...process.env, ...variables }
  const { stdout } = await execute(program, args, { env, timeout: FETCH_MS })
  return stdout.trim()
}

/**
 * Fetches packages into a folder that is named after the list of packages.
 * @param list file with the names and versions of the packages
 * @param fetchInto fetches the packages into a new folder
 */
async function fetchPackages(list: string, fetchInto: (folder: string) => Promise<unknown>): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(list)).digest('hex').slice(0, 12)
  const folder = `${checkoutRoot}.build/languages/${hash}`
  if (existsSync(folder)) return folder
  rmSync(`${folder}.new`, { recursive: true, force: true })
  await fetchInto(`${folder}.new`)
  renameSync(`${folder}.new`, folder)
  return folder
}

/** Returns the variables for each language's programs, by the program that starts them. */
const languages: Readonly<Record<string, () => Promise<Variables>>> = {
  python3: async () => {
    const list = `${EXAMPLES}/python/requirements.txt`
    const folder = await fetchPackages(list, target =>
      run('python3', ['-m', 'pip', 'install', '-q', '--target', target, '-r', list]),
    )
    await run('python3', ['-c', 'import boto3, hvac'], { PYTHONPATH: folder })
    return { PYTHONPATH: folder }
  },
  go: async () => {
    await run('go', ['build', '-C', `${EXAMPLES}/go`, '-o', '/dev/null', '.'])
    const [GOPATH = '', GOCACHE = ''] = (await run('go', ['env', 'GOPATH', 'GOCACHE'])).split('\n')
    return { GOPATH, GOCACHE }
  },
  java: async () => {
    await run('java', ['-version'])
    const pom = `${EXAMPLES}/java/pom.xml`
    const order = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime']
    const folder = await fetchPackages(pom, target => run('mvn', [...order, `-DoutputDirectory=${target}`]))
    return { CLASSPATH: `${folder}/*` }
  },
}

const prepared = new Map<string, Promise<Variables | undefined>>()

/**
 * Prepares the language of a block's program.
 * @returns the variables that the program needs; undefined: the machine cannot run the program, which is reported once
 */
export async function prepareLanguageOf(block: string): Promise<Variables | undefined> {
  const program = Object.keys(languages).find(name => new RegExp(`(^|\\s)${name}\\s`).test(block))
  if (program === undefined) return {}
  const known = prepared.get(program) ?? languages[program]?.().catch(error => report(program, error))
  if (known) prepared.set(program, known)
  return known
}

function report(program: string, error: Error): undefined {
  const [reason = ''] = error.message.split('\n')
  process.stderr.write(`NOT SHOWN: THE EXAMPLES FOR ${program.toUpperCase()} DID NOT RUN, for ${reason}\n`)
}
