import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { checkoutRoot } from '../../infra/checkout.ts'
import { type AdaptableTemplate, adaptTemplate } from './adaptations.ts'
import { EMULATED, type Emulator } from './emulator.ts'

const FOLDER = `${checkoutRoot}.build/deployed/`

/** The result of the CDK's command line. */
interface CdkEnd {
  /** exit code; null: a signal ended the program */
  status: number | null
  output: string
}

/**
 * Runs the CDK's command line in the emulated account.
 * @param checkout the checkout whose app and whose CDK run
 */
async function tryCdk(
  { variables }: Pick<Emulator, 'variables'>,
  words: readonly string[],
  checkout = checkoutRoot,
): Promise<CdkEnd> {
  const child = spawn(process.execPath, [`${checkout}node_modules/aws-cdk/bin/cdk`, ...words], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...variables, CI: 'true', NO_COLOR: '1', CDK_DISABLE_CLI_TELEMETRY: 'true' },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, output }
}

/** Runs the CDK's command line, and returns its output. @throws Error with the output if the command fails */
async function runCdk(...given: Parameters<typeof tryCdk>): Promise<string> {
  const { status, output } = await tryCdk(...given)
  if (status !== 0) throw new Error(`cdk ${given[1].join(' ')} ended with ${status}:\n${output}`)
  return output
}

/** The folders of an assembly: as the CDK has written it, and as the emulator accepts it. */
export interface Assembly {
  released: string
  tested: string
}

const templatesIn = (folder: string): string[] =>
  readdirSync(folder).filter(name => name.endsWith('.template.json'))

/** Reads the templates of an assembly, by file name. */
export const readTemplates = (folder: string): Record<string, AdaptableTemplate> =>
  Object.fromEntries(
    templatesIn(folder).map(name => [
      name,
      JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as AdaptableTemplate,
    ]),
  )

/**
 * Adapts a copy of an assembly. The hashes of templates in the copy remain those of the released templates.
 * @param released folder of the assembly
 */
export function adaptAssembly(released: string): Assembly {
  const tested = `${released}-tested`
  rmSync(tested, { recursive: true, force: true })
  cpSync(released, tested, { recursive: true })
  for (const [file, template] of Object.entries(readTemplates(released)))
    writeFileSync(`${tested}/${file}`, JSON.stringify(adaptTemplate(template)))
  return { released, tested }
}

/** Synthesises the stacks of a cluster, and adapts a copy of the assembly. */
export async function synthesiseAssembly(
  emulator: Emulator,
  name: string,
  settings: Record<string, unknown>,
  checkout = checkoutRoot,
): Promise<Assembly> {
  const released = `${FOLDER}${name}`
  rmSync(released, { recursive: true, force: true })
  const context = ['--context', `settings=${JSON.stringify(settings)}`]
  await runCdk(emulator, ['synth', '--all', '--quiet', '--output', released, ...context], checkout)
  return adaptAssembly(released)
}

/** Prepares the emulated account for the CDK, as `docs/do/deploy.md` says. */
export const bootstrap = (emulator: Emulator, { tested }: Assembly): Promise<string> =>
  runCdk(emulator, ['bootstrap', '--app', tested, `aws://${EMULATED.account}/${emulator.region}`])

/**
 * Deploys stacks of an assembly.
 * @param selection a pattern of stacks; default: all stacks
 * @returns the outputs by stack
 */
export async function deployStacks(
  emulator: Emulator,
  { tested }: Assembly,
  selection = '--all',
): Promise<Record<string, Record<string, string>>> {
  const outputs = `${tested}/outputs.json`
  const words = ['--app', tested, '--require-approval', 'never', '--outputs-file', outputs]
  await runCdk(emulator, ['deploy', selection, ...words])
  return JSON.parse(readFileSync(outputs, 'utf8')) as Record<string, Record<string, string>>
}

/** Counts the stacks that differ from their templates in the account. */
export async function countDifferentStacks(emulator: Emulator, { tested }: Assembly): Promise<number> {
  const { output } = await tryCdk(emulator, ['diff', '--app', tested])
  const [, count = 'NaN'] = /Number of stacks with differences: (\d+)/.exec(output) ?? []
  return Number(count)
}

/** Deletes all stacks of an assembly. */
export const destroyAll = (emulator: Emulator, { tested }: Assembly): Promise<CdkEnd> =>
  tryCdk(emulator, ['destroy', '--app', tested, '--all', '--force'])
