import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { BLOCK_HUNG_MS } from './patience.ts'

// Tests run pages as a reader does: they paste block after block into one bash. The programs are those of
// this machine. Stand-ins replace programs that a machine with only Node lacks, and the test run reports each
// stand-in.

/** The result of a pasted block. */
export interface Pasted {
  /** 0: all lines of the block succeeded */
  status: number
  stdout: string
  stderr: string
}

export interface Shell {
  /**
   * Pastes a block into the shell.
   * @param typed lines that a reader types when the block asks, each with its line end
   * @throws Error with all output when a line fails
   */
  paste(block: string, typed?: string): Promise<Pasted>
  /** like `paste`, but returns a failure instead of throwing */
  attempt(block: string, typed?: string): Promise<Pasted>
  /** the value of a shell variable */
  value(name: string): Promise<string>
  close(): void
}

interface ShellOptions {
  /** the shell's first working directory */
  cwd: string
  variables?: Readonly<Record<string, string>>
  /** programs of the test: the text of a file that Node runs, by the program's name */
  programs?: Readonly<Record<string, string>>
  /** programs with a stand-in; default: programs that this machine lacks */
  standIns?: readonly string[]
  /**
   * milliseconds that a block may take; less than a test's timeout, so that the test reports the block's
   * output. Or a promise that ends the wait.
   */
  patience?: number | (() => Promise<unknown>)
}

/** Characters of output to show of a block that does not end. Only the newest output is shown. */
const MOST_SHOWN = 4000

const NEEDED = ['curl', 'jq', 'aws'] as const

const works = (program: string): boolean =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0

let known: readonly string[] | undefined

/** Returns the programs that this machine lacks. */
function lacking(): readonly string[] {
  if (known) return known
  known = NEEDED.filter(program => !works(program))
  if (known.length > 0)
    process.stderr.write(
      `${known.join(', ')}: not on this machine. The documents are run with stand-ins, which prove less: install them.\n`,
    )
  return known
}

/** Fills a folder with the programs that the shell finds first. */
function programsIn(
  folder: string,
  { programs = {}, standIns = lacking() }: Pick<ShellOptions, 'programs' | 'standIns'>,
): void {
  const write = (name: string, text: string) => {
    writeFileSync(`${folder}/${name}`, `#!/bin/sh\n${text}\n`)
    chmodSync(`${folder}/${name}`, 0o755)
  }
  symlinkSync(process.execPath, `${folder}/node`)
  for (const name of standIns)
    write(name, `exec "${process.execPath}" "${checkoutRoot}test/support/programs/stand-ins/${name}.ts" "$@"`)
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(`${folder}/${name}.mjs`, text)
    write(name, `exec "${process.execPath}" "${folder}/${name}.mjs" "$@"`)
  }
}

/** Reports whether work takes longer than some milliseconds, or than another promise. */
async function isLate(work: Promise<void>, patience: number | (() => Promise<unknown>)): Promise<boolean> {
  const end = new AbortController()
  const { signal } = end
  const late =
    typeof patience === 'number'
      ? setTimeout(patience, true, { signal }).catch(() => false)
      : patience().then(() => true)
  const became = await Promise.race([work.then(() => false), late])
  end.abort()
  return became
}

/** Opens a bash like the terminal of a new user account. */
export function openShell({ cwd, variables = {}, patience = BLOCK_HUNG_MS, ...rest }: ShellOptions): Shell {
  if (!works('bash')) throw new Error('the documents are run by bash: install it')
  const home = mkdtempSync(`${tmpdir()}/cloud-auth-shell-`)
  programsIn(home, rest)
  const { LANG = 'C.UTF-8', PATH = '' } = process.env
  const env = { LANG, PATH: `${home}:${PATH}`, HOME: home, ...variables }
  const child = spawn('bash', ['--norc', '--noprofile'], { cwd, env, detached: true })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      heard()
    })
  // a write to a shell that has ended fails here, and the result of the block reports the reason
  child.stdin.on('error', () => undefined)
  let heard = (): void => undefined
  let ended = false
  child.once('close', () => {
    ended = true
    heard()
  })

  let pasted = 0
  async function attempt(block: string, typed = ''): Promise<Pasted> {
    const mark = `--- pasted ${++pasted}: `
    const before = { stdout: said.stdout.length, stderr: said.stderr.length }
    // one group of commands, because terminals pass pasted text on as one: when the shell ends, the rest of
    // the block is dropped too
    const whole = block === 'bash' ? 'bash --norc --noprofile' : `{\n${block}\n}`
    child.stdin.write(`${whole}\n${typed}echo "${mark}$?"\necho "${mark}" >&2\n`)
    const at = (name: keyof typeof said) => said[name].indexOf(mark, before[name])
    const isOver = () =>
      ended || (said.stdout.slice(at('stdout')).includes('\n') && at('stdout') >= 0 && at('stderr') >= 0)
    const over = new Promise<void>(resolve => {
      heard = () => {
        if (isOver()) resolve()
      }
      heard()
    })
    if (await isLate(over, patience)) {
      close()
      const printed = `${said.stdout.slice(before.stdout)}${said.stderr.slice(before.stderr)}`.slice(
        -MOST_SHOWN,
      )
      const span = typeof patience === 'number' ? `within ${patience} ms` : 'in time'
      throw new Error(`this block has not ended ${span}:\n${block}\n${printed}`)
    }
    const status = at('stdout') < 0 ? 1 : Number.parseInt(said.stdout.slice(at('stdout') + mark.length), 10)
    const told = (name: keyof typeof said) =>
      said[name].slice(before[name], at(name) < 0 ? undefined : at(name))
    return { status, stdout: told('stdout'), stderr: told('stderr') }
  }

  async function paste(block: string, typed?: string): Promise<Pasted> {
    const result = await attempt(block, typed)
    if (result.status !== 0)
      throw new Error(`this block failed with ${result.status}:\n${block}\n${result.stdout}${result.stderr}`)
    return result
  }

  const close = (): void => {
    // also kills processes that a block left behind
    if (!ended && child.pid) process.kill(-child.pid, 'SIGKILL')
    ended = true
    rmSync(home, { recursive: true, force: true })
  }
  const value = async (name: string): Promise<string> => (await paste(`printf '%s' "$${name}"`)).stdout
  return { attempt, paste, value, close }
}
