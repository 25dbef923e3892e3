import { readFileSync } from 'node:fs'
import { root } from '../../infra/checkout.ts'
import { call } from './api.ts'

/** What a line of a runbook does, as far as runbooks go: `curl -f`, `jq -r`, `echo`, deployments, and executions that are started. */
export interface Shell {
  variables: Record<string, string>
  /** `aws stepfunctions start-execution` */
  startExecution(machine: string, input: string): Promise<void>
  /** `npx cdk deploy`, with these settings */
  deploy?(settings: string): Promise<void>
  /** asks a cluster; absent: over HTTP */
  call?: typeof call
}

/** The commands of all `sh` blocks of a runbook, in their order. */
export const commandsOf = (name: string): string[] =>
  [...readFileSync(`${root}docs/runbooks/${name}.md`, 'utf8').matchAll(/^ *```sh\n([\s\S]*?)```/gm)]
    .flatMap(([, block = '']) => block.split('\n'))
    .map(line => line.trim())
    .filter(line => line !== '')

const WORD = /'([^']*)'|"((?:\\.|[^"\\])*)"|(\S+)/g
const ASSIGNED = /^([A-Z_0-9]+)=\$\((.*)\)$/

/** Does one command as a shell would. @throws Error when it fails */
export async function perform(command: string, shell: Shell): Promise<void> {
  const [, name, inner] = ASSIGNED.exec(command) ?? []
  const output = await piped(inner ?? command, shell)
  if (name !== undefined) shell.variables[name] = output
}

async function piped(line: string, shell: Shell): Promise<string> {
  const [first = '', filter] = line.split(' | ')
  const output = await plain(words(first, shell.variables), shell)
  return filter === undefined ? output : selected(output, words(filter, shell.variables))
}

/** Words of a command: what stands in single quotes as it is, elsewhere with the values of variables. */
function words(command: string, variables: Shell['variables']): string[] {
  const filled = (text: string) =>
    text.replace(/\$(\w+)/g, (_, variable: string) => {
      const value = variables[variable]
      if (value === undefined) throw new Error(`${command}: nobody has set ${variable}`)
      return value
    })
  return [...command.matchAll(WORD)].map(([, single, double, bare]) =>
    single !== undefined
      ? single
      : filled(double !== undefined ? double.replace(/\\(["\\$])/g, '$1') : (bare ?? '')),
  )
}

async function plain([program, ...rest]: readonly string[], shell: Shell): Promise<string> {
  if (program === 'echo') return rest.join(' ')
  if (program === 'curl') return curl(rest, shell.call ?? call)
  if (program === 'npx' && rest[0] === 'cdk' && shell.deploy) {
    await shell.deploy(rest.at(-1) ?? '')
    return ''
  }
  if (program === 'aws') return aws(rest, shell)
  throw new Error(`runbooks know no ${program}`)
}

async function curl(given: readonly string[], ask: typeof call): Promise<string> {
  const headers: Record<string, string> = {}
  let [url, method, body] = ['', 'GET', undefined as string | undefined]
  const rest = [...given]
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (next === '-f') continue
    if (next === '-X') method = rest.shift() ?? ''
    else if (next === '-d') body = rest.shift()
    else if (next === '-H') {
      const [name = '', value = ''] = (rest.shift() ?? '').split(': ')
      headers[name] = value
    } else url = next
  }
  const { status, text } = await ask(url, method, '', body, { headers })
  if (status >= 400) throw new Error(`${method} ${url}: ${status} ${text}`)
  return text
}

async function aws([service, action, ...rest]: readonly string[], shell: Shell): Promise<string> {
  if (service !== 'stepfunctions' || action !== 'start-execution') throw new Error(`${service} ${action}`)
  const after = (name: string) => rest[rest.indexOf(name) + 1] ?? ''
  await shell.startExecution(after('--state-machine-arn'), after('--input'))
  return ''
}

function selected(json: string, [program, flag, path = '']: readonly string[]): string {
  if (program !== 'jq' || flag !== '-r') throw new Error(`runbooks know no ${program} ${flag}`)
  const steps = path.split('.').filter(step => step !== '')
  const value = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], JSON.parse(json))
  if (typeof value !== 'string' || value === '') throw new Error(`there is no ${path} in ${json}`)
  return value
}
