import { readdirSync, readFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

interface Told {
  answers: number
  operations: string[]
}

/** Reads the workers' counts of checked answers. @param directory directory of the run */
const toldIn = (directory: string): Told[] =>
  readdirSync(directory)
    .filter(name => name.startsWith('answers-'))
    .flatMap(name => readFileSync(`${directory}/${name}`, 'utf8').trim().split('\n'))
    .map(line => JSON.parse(line) as Told)

/** Prints after a run of integration tests how many answers were checked against the OpenAPI document. */
export default class Answers implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const [first] = modules.filter(({ project }) => project.name === 'integration')
    if (!first) return
    const told = toldIn(first.project.getProvidedContext().ground.directory)
    const count = told.reduce((sum, { answers }) => sum + answers, 0)
    const operations = new Set(told.flatMap(one => one.operations))
    process.stdout.write(
      `\nAnswers checked against the OpenAPI document: ${count}; successes of ${operations.size} operations\n`,
    )
  }
}
