import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { root } from '../../../checkout.ts'
import { writerTo } from '../../../command/output.ts'
import { startHost } from '../../host/host.ts'
import { leftOut, settingsText } from './left-out.ts'
import { keptSubject, type SubjectSeen, TOKEN } from './subject.ts'

/** The fuzzer, from PyPI, in an environment of its own. */
const FUZZER = 'schemathesis==4.32.5'

const HELP = `npm run fuzz [-- options]    Schemathesis against a fresh cluster of this machine, by docs/openapi.json

  --examples N    requests to each operation, and phase, at most (600: some 100,000 in all)
  --seed N        which (any)
  --workers N     at once (1: with more, Python itself may fail)

It needs python3 with venv, and PyPI once: ${FUZZER} goes into .local/fuzz/. It ends with 0 where nothing was found.
`

const options = {
  examples: { type: 'string', default: '600' },
  seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  workers: { type: 'string', default: '1' },
  help: { type: 'boolean', default: false },
} as const

const write = writerTo(process.stdout)
const complain = writerTo(process.stderr)
const print = (text: string): void => write(`${text}\n`)

/** The fuzzer's program, installed where it is not yet. @throws Error that says what is missing */
function fuzzer(): string {
  const directory = `${root}.local/fuzz/${FUZZER}`
  const program = `${directory}/bin/schemathesis`
  if (existsSync(program)) return program
  const steps = [
    ['python3', '-m', 'venv', directory],
    [`${directory}/bin/python`, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', FUZZER],
  ]
  for (const [command = '', ...rest] of steps) {
    const { status, error } = spawnSync(command, rest, { stdio: 'inherit' })
    if (status !== 0)
      throw new Error(
        `${[command, ...rest].join(' ')} failed${error ? `: ${error.message}` : ''}: install python3 with venv and pip, and let it reach PyPI`,
      )
  }
  return program
}

/** Runs it to its end. @returns its exit code */
const run = (program: string, given: readonly string[]): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, given, { stdio: 'inherit', cwd: `${root}.local/fuzz` })
    child.on('error', reject)
    child.on('exit', code => resolve(code ?? 1))
  })

function tell({ requests, statuses, failures, tokens }: SubjectSeen, seed: string): void {
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  print(`
  seed       ${seed}
  requests   ${requests} to the cluster, by ${tokens} tokens
  statuses   ${counts.join(', ')}
  left out   ${Object.keys(leftOut).length} operations that would end the subject: infra/local/commands/fuzz/left-out.ts
  failures   ${failures.length}${failures
    .slice(0, 20)
    .map(one => `\n    ${one}`)
    .join('')}
`)
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options })
  if (values.help) {
    print(HELP)
    return 0
  }
  const program = fuzzer()
  const settings = `${root}.local/fuzz/schemathesis.toml`
  mkdirSync(`${root}.local/fuzz`, { recursive: true })
  writeFileSync(settings, settingsText())
  const host = await startHost({ cluster: 'fuzz', port: 0, memory: true, unlisted: true })
  try {
    const subject = await keptSubject(host.base_url, host.root_token)
    const code = await run(program, [
      `--config-file=${settings}`,
      'run',
      `${root}docs/openapi.json`,
      `--url=${subject.url}`,
      `--header=X-Vault-Token:${TOKEN}`,
      `--max-examples=${values.examples}`,
      `--seed=${values.seed}`,
      `--workers=${values.workers}`,
      '--continue-on-failure',
      '--suppress-health-check=all',
    ])
    subject.close()
    tell(subject.seen, values.seed)
    return code || Number(subject.seen.failures.length > 0)
  } finally {
    await host.close()
  }
}

try {
  process.exit(await main())
} catch (error) {
  complain(
    `${error instanceof Error ? error.message : String(error)}; npm run fuzz -- --help tells the options\n`,
  )
  process.exit(1)
}
