// Runs cfn-lint, a Python program, on the templates of all deployments: `npm run lint:templates`. If cfn-lint
// is not installed and pip cannot fetch it, the script prints a note and exits with 0.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { createUndeployedApp } from '../../../infra/docs/synthesise.ts'
import { makeEmptyBundles } from '../../../infra/local/template/synth.ts'
import { createTemplatesApp } from '../../../infra/release/templates.ts'
import { deployments } from './deployments.ts'
import { findSuppressions, suppressions } from './suppressions.ts'

const VERSION = '1.58.0'
const home = `${checkoutRoot}.build/cfn-lint`
const out = `${checkoutRoot}.build/linted`

/**
 * Returns the path of cfn-lint, and installs cfn-lint if needed. Returns undefined if cfn-lint is not
 * available.
 */
function linter(): string | undefined {
  const own = `${home}/bin/cfn-lint`
  if (existsSync(own)) return own
  if (spawnSync('cfn-lint', ['--version']).status === 0) return 'cfn-lint'
  const fetching = ['install', '--quiet', '--retries', '1', '--timeout', '10', `cfn-lint==${VERSION}`]
  const made =
    spawnSync('python3', ['-m', 'venv', home]).status === 0 &&
    spawnSync(`${home}/bin/pip`, fetching).status === 0
  if (!made) rmSync(home, { recursive: true, force: true })
  return made ? own : undefined
}

interface Finding {
  Filename: string
  Rule: { Id: string; ShortDescription: string }
  Message: string
  Location: { Path: (string | number)[] | null }
}

function templates(): string[] {
  rmSync(out, { recursive: true, force: true })
  const apps = Object.entries(deployments).map(([name, settings]) =>
    createUndeployedApp(settings, `${out}/${name}`),
  )
  makeEmptyBundles(`${out}/bundles`)
  apps.push(createTemplatesApp(`${out}/bundles`, `${out}/release`))
  return apps.flatMap(app => app.synth().stacks.map(one => one.templateFullPath))
}

/** Runs cfn-lint. @throws Error if cfn-lint fails for another reason than findings */
function findings(program: string): Finding[] {
  const given = ['--format', 'json', '--regions', 'us-east-1', '--', ...templates()]
  const { stdout, stderr } = spawnSync(program, given, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  try {
    return JSON.parse(stdout) as Finding[]
  } catch {
    throw new Error(`cfn-lint failed: ${stderr}`)
  }
}

const whereOf = ({ Filename, Location }: Finding): string =>
  `${Filename.replace(`${out}/`, '')} ${(Location.Path ?? []).join('/')}`

const say = (text: string): void => void process.stderr.write(`${text}\n`)

const program = linter()
if (program === undefined) say('NOT LINTED: cfn-lint is not installed, and pip cannot fetch it')
else {
  const all = findings(program)
  const used = new Set(all.flatMap(one => findSuppressions('cfn-lint', one.Rule.Id, whereOf(one))))
  const open = all.filter(one => findSuppressions('cfn-lint', one.Rule.Id, whereOf(one)).length === 0)
  for (const one of open) say(`${one.Rule.Id} ${whereOf(one)}: ${one.Message}`)
  const idle = suppressions.filter(one => one.by === 'cfn-lint' && !one.isOfEarlierVersions && !used.has(one))
  for (const { rule } of idle) say(`${rule} is suppressed in the table, but no finding needs it any more`)
  say(`cfn-lint: ${all.length} findings, ${open.length} of them not in the table`)
  if (open.length + idle.length > 0) process.exitCode = 1
}
