import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCdkApp } from '../app.ts'
import { buildFunctionBundles } from '../build/functions.ts'
import { bundlesDir, checkoutRoot } from '../checkout.ts'
import { createTerminalWriter } from '../command/output.ts'
import { openTerminal } from '../command/terminal.ts'
import { deployPair } from './deploy.ts'
import { joinPair } from './join.ts'
import { type MemberPlan, type PairPlan, readPairPlanFile } from './settings.ts'
import { definePairStacks } from './stacks.ts'

const HELP = `npm run deploy:pair -- <file> [options]    deploys both clusters of a DR set, the primary last

  --join <cluster>   no deployment: makes <cluster> the secondary of the other cluster, once you have typed its name.
                     PRIMARY_TOKEN and SECONDARY_TOKEN are administrator tokens of the two clusters
  --anyway           deploys although one cluster does not answer and the other cluster is in a set
  --synth            only writes the templates to .build/pair

docs/do/aws-pair.md describes the file. The exit code is 0 if everything succeeded, else 1.
`

const options = {
  join: { type: 'string' },
  anyway: { type: 'boolean', default: false },
  synth: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const OUT = `${checkoutRoot}.build/pair`

const write = createTerminalWriter(process.stderr)
const say = (text: string): void => write(`${text}\n`)
const wait = (ms: number): Promise<void> => setTimeout(ms)

const terminal = openTerminal()
const question = async (text: string): Promise<string> => (await terminal.line(text)) ?? ''

/**
 * Writes the templates of both clusters to one cloud assembly, so that both clusters deploy the same build.
 */
async function synthesise(pair: PairPlan): Promise<void> {
  await buildFunctionBundles()
  const app = createCdkApp(OUT)
  definePairStacks(app, pair, bundlesDir)
  app.synth()
}

async function deploy({ name, profile }: MemberPlan): Promise<void> {
  const given = ['cdk', 'deploy', '--app', OUT, '--require-approval', 'never', `${name}/*`]
  const child = spawn('npx', profile === undefined ? given : [...given, '--profile', profile], {
    cwd: checkoutRoot,
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the deployment of ${name} ended with exit code ${code}`)
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const [file] = positionals
  if (values.help || file === undefined) return say(HELP)
  const pair = readPairPlanFile(file)
  if (values.join !== undefined) {
    const { PRIMARY_TOKEN: primary = '', SECONDARY_TOKEN: secondary = '' } = process.env
    if (!primary || !secondary)
      throw new Error('PRIMARY_TOKEN and SECONDARY_TOKEN are needed, tokens of administrators')
    return joinPair(pair, values.join, { say, question, wait, tokens: { primary, secondary } })
  }
  await synthesise(pair)
  if (!values.synth) await deployPair(pair, values.anyway, { say, deploy, wait })
}

try {
  await main()
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  terminal.close()
}
