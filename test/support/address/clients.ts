import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const SOURCES = new URL('./clients/', import.meta.url).pathname
const VAULT_GO = 'github.com/hashicorp/vault/api v1.23.0'

/** The command of a program that uses a client library. */
interface Program {
  /** @throws when the machine lacks a program or library of the client */
  command(directory: string): string[]
}

/** A kind of workload: a language, a library, and the type of its logins. */
interface Kind extends Program {
  library: string
  login: 'ec2' | 'iam'
}

const python = (): string => process.env['PYTHON'] ?? 'python3'
const run = (command: string, parameters: string[], cwd?: string): void => {
  execFileSync(command, parameters, { cwd, stdio: 'pipe', env: { ...process.env, GOFLAGS: '-mod=mod' } })
}

/** Compiles a program in Go that uses Vault's own client. */
function buildVault(directory: string, name: string): string[] {
  writeFileSync(`${directory}/go.mod`, `module client\n\ngo 1.23\n\nrequire ${VAULT_GO}\n`)
  copyFileSync(`${SOURCES}${name}.go`, `${directory}/${name}.go`)
  run('go', ['build', '-o', name, `${name}.go`], directory)
  return [`${directory}/${name}`]
}

function withHvac(name: string): string[] {
  run(python(), ['-c', 'import hvac'])
  return [python(), `${SOURCES}${name}.py`]
}

/**
 * One row for each workload. `PYTHON` may name another interpreter, for example of an environment
 * that has hvac.
 */
export const kinds = {
  'Go, net/http': {
    library: 'net/http',
    login: 'ec2',
    command: directory => {
      run('go', ['build', '-o', `${directory}/plain`, `${SOURCES}plain.go`])
      return [`${directory}/plain`]
    },
  },
  'Go, vault/api 1.23.0': {
    library: 'github.com/hashicorp/vault/api',
    login: 'iam',
    command: directory => buildVault(directory, 'vault'),
  },
  'Python, http.client': {
    library: 'http.client',
    login: 'ec2',
    command: () => {
      run(python(), ['-c', 'import http.client'])
      return [python(), `${SOURCES}plain.py`]
    },
  },
  'Python, hvac': {
    library: 'hvac',
    login: 'iam',
    command: () => withHvac('hvac-client'),
  },
  'Node, node:http': {
    library: 'node:http',
    login: 'ec2',
    command: () => [process.execPath, `${SOURCES}plain.ts`],
  },
  'Node, node-vault': {
    library: 'node-vault',
    login: 'iam',
    command: () => [process.execPath, `${SOURCES}node-vault.ts`],
  },
  'Node, node-vault-client': {
    library: 'node-vault-client',
    login: 'iam',
    command: () => [process.execPath, `${SOURCES}node-vault-client.ts`],
  },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof kinds

/**
 * Programs that send given write requests, one row for each client library. The sender programs read requests and
 * print answers as JSON lines.
 */
export const senders = {
  curl: {
    command: () => {
      run('curl', ['--version'])
      run('jq', ['--version'])
      return ['bash', `${SOURCES}send.sh`]
    },
  },
  hvac: { command: () => withHvac('send') },
  'Go, vault/api 1.23.0': { command: directory => buildVault(directory, 'send') },
} as const satisfies Record<string, Program>

/**
 * Returns the client programs of a table that this machine can run, and for each other program the reason why
 * it cannot.
 */
export function programs<Name extends string>(
  table: Readonly<Record<Name, Program>>,
  directory: string,
): { there: Map<Name, string[]>; absent: Map<Name, string> } {
  const there = new Map<Name, string[]>()
  const absent = new Map<Name, string>()
  for (const name of Object.keys(table) as Name[]) {
    try {
      there.set(name, table[name].command(directory))
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: Buffer }
      absent.set(
        name,
        String(stderr ?? message)
          .trim()
          .split('\n')
          .at(-1) ?? message,
      )
    }
  }
  return { there, absent }
}

/** The report of a workload about one request. */
export interface Told {
  /** epoch milliseconds */
  at: number
  op: 'login' | 'renew'
  /** the error's name in the client library; empty: no error */
  error: string
  /** true while the workload uses its first token */
  first: boolean
}

/** The settings of a workload. Times are in seconds. */
export interface Settings {
  address: string
  /** maximum age of the workload's connections; 0: connections are kept */
  maxAge: number
  /** between two rounds of a renewal and a login */
  pause: number
  /** time limit of a request */
  timeout: number
  /** JSON: the body of a login, and AWS credentials for client libraries that sign themselves */
  login: string
  credentials: string
}

export interface Workload {
  told: readonly Told[]
  /** printed lines that are no report about a request */
  complaints: readonly string[]
  end(): void
}

export function startWorkload(
  [command = '', ...parameters]: readonly string[],
  settings: Settings,
): Workload {
  const { address, maxAge, pause, timeout, login, credentials } = settings
  const child: ChildProcess = spawn(command, parameters, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ADDRESS: address,
      MAX_AGE: String(maxAge),
      PAUSE: String(pause),
      TIMEOUT: String(timeout),
      LOGIN: login,
      CREDENTIALS: credentials,
    },
  })
  const told: Told[] = []
  const complaints: string[] = []
  for (const stream of [child.stdout, child.stderr])
    if (stream)
      createInterface({ input: stream }).on('line', line => {
        if (line.startsWith('{"')) told.push({ at: Date.now(), ...(JSON.parse(line) as Omit<Told, 'at'>) })
        else complaints.push(line)
      })
  return { told, complaints, end: () => void child.kill('SIGKILL') }
}
