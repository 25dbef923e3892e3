import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isAlone } from '../test/support/service/running-file.ts'

/** Begins with files that are alone, so that each worker discards the modules of tests once only. */
export class AloneFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isShared = ({ moduleId }: TestSpecification): number => Number(!isAlone(moduleId))
    return sorted.toSorted((a, b) => isShared(a) - isShared(b))
  }
}

/** Files of `test/e2e/` that take a minute or more, the longest first. */
const LONGEST = ['runbooks', 'pair-again', 'roles', 'pair', 'pair-join', 'kill', 'start']

/** Begins with the longest files: they wait, and the others work beside them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const first = LONGEST.flatMap(name =>
      sorted.filter(({ moduleId }) => moduleId.endsWith(`/${name}.test.ts`)),
    )
    return [...first, ...sorted.filter(file => !first.includes(file))]
  }
}
