import type { Reporter, TestModule } from 'vitest/node'

const MOST = 10

/** Prints the slowest test files after a run. */
export default class Slowest implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slowest = modules
      .map(module => ({ name: module.relativeModuleId, seconds: module.diagnostic().duration / 1000 }))
      .sort((one, other) => other.seconds - one.seconds)
      .slice(0, MOST)
    if (modules.length <= MOST) return
    process.stdout.write('\nThe slowest files:\n')
    for (const { name, seconds } of slowest)
      process.stdout.write(`  ${seconds.toFixed(1).padStart(6)} s  ${name}\n`)
  }
}
