import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const SOURCES = new URL('./clients/', import.meta.url).pathname
const VAULT_GO = 'github.com/hashicorp/vault/api v1.23.0'

/** A kind of workload: a language, a library, and the type of its logins. */
interface Kind {
  library: string
  login: 'ec2' | 'iam'
  /** makes the program where that is needed; @throws where the machine lacks something */
  command(directory: string): string[]
}

const python = (): string => process.env['PYTHON'] ?? 'python3'
const run = (command: string, parameters: string[], cwd?: string): void => {
  execFileSync(command, parameters, { cwd, stdio: 'pipe', env: { ...process.env, GOFLAGS: '-mod=mod' } })
}

/** One row for each workload. `PYTHON` may name another interpreter, of an environment that has hvac. */
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
    command: directory => {
      writeFileSync(`${directory}/go.mod`, `module client\n\ngo 1.23\n\nrequire ${VAULT_GO}\n`)
      copyFileSync(`${SOURCES}vault.go`, `${directory}/vault.go`)
      run('go', ['build', '-o', 'vault', 'vault.go'], directory)
      return [`${directory}/vault`]
    },
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
    command: () => {
      run(python(), ['-c', 'import hvac'])
      return [python(), `${SOURCES}hvac-client.py`]
    },
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

/** Programs of the workloads that this machine can run, and why it cannot run the others. */
export function programs(directory: string): {
  there: Map<KindName, string[]>
  absent: Map<KindName, string>
} {
  const there = new Map<KindName, string[]>()
  const absent = new Map<KindName, string>()
  for (const name of Object.keys(kinds) as KindName[]) {
    try {
      there.set(name, kinds[name].command(directory))
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

/** What a workload says of a request. */
export interface Told {
  /** epoch milliseconds */
  at: number
  op: 'login' | 'renew'
  /** as its library names it; empty: none */
  error: string
  /** whether it has the token that it had at first */
  first: boolean
}

/** What a workload is told. Times in seconds. */
export interface Settings {
  address: string
  /** of its connections; 0: it keeps them */
  maxAge: number
  /** between two rounds of a renewal and a login */
  pause: number
  /** of a request */
  timeout: number
  /** JSON: the body of a login, and credentials for those that sign themselves */
  login: string
  credentials: string
}

export interface Workload {
  told: readonly Told[]
  /** what it printed that is no line of a request */
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
