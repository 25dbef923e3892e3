import { readdirSync, readFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import { type Grant, grantsOf, unusedGrants } from '../test/support/iam/grants.ts'
import { reasons } from '../test/support/iam/reasons.ts'
import { SLOW } from './slow.ts'

const PROJECT = 'integration'
const root = new URL('../', import.meta.url).pathname

/**
 * Reports whether the run includes all files that `npm test` runs, because a grant that some files do not use
 * may be used by other files.
 */
function isWhole(modules: readonly TestModule[]): boolean {
  const files = readdirSync(`${root}test/${PROJECT}`, { recursive: true, encoding: 'utf8' })
  return files.filter(name => name.endsWith('.test.ts')).length - SLOW.length === modules.length
}

/** Reads the workers' records of used grants. @param directory directory of the run */
function toldIn(directory: string): { used: Set<string>; calls: number } {
  const lines = readdirSync(directory)
    .filter(name => name.startsWith('grants-'))
    .flatMap(name => readFileSync(`${directory}/${name}`, 'utf8').trim().split('\n'))
  const counts = lines.filter(line => line.startsWith('{"calls"'))
  const calls = counts.map(line => (JSON.parse(line) as { calls: number }).calls)
  return {
    used: new Set(lines.filter(line => !counts.includes(line))),
    calls: calls.reduce((sum, one) => sum + one, 0),
  }
}

const textOf = (grant: Grant): string =>
  `${grant.function}: ${grant.action} on ${grant.resource} ${grant.when}`

/**
 * Prints after a run of all integration tests which permissions the functions used. Fails the run for a permission
 * that no function used, unless a reason is given.
 */
export default class Grants implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const own = modules.filter(({ project }) => project.name === PROJECT)
    const [first] = own
    if (!first || !isWhole(own)) return
    const { directory, policies } = first.project.getProvidedContext().ground
    const { used, calls } = toldIn(directory)
    const granted = grantsOf(policies.functions)
    const { unused, stale } = unusedGrants(granted, used, reasons)
    process.stdout.write(
      `\nPolicies of functions: ${calls} requests judged, ${used.size} of ${granted.size} grants used\n`,
    )
    for (const grant of unused) process.stdout.write(`  granted but never used: ${textOf(grant)}\n`)
    for (const { action, because } of stale)
      process.stdout.write(`  reason for a grant that does not exist: ${action}, ${because}\n`)
    if (unused.length + stale.length > 0) process.exitCode = 1
  }
}
