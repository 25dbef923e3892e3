import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isAlone } from '../test/support/service/running-file.ts'

/** Files that take minutes of waiting and little work: what works goes on beside them. The longest stands first. */
const WAITING = ['runbooks', 'roles', 'pair-again', 'pair', 'pair-join', 'kill'].map(
  name => `e2e/${name}.test.ts`,
)

/**
 * Begins with the files that wait, or a run would end with them, and the processors have nothing to do. Files that are
 * alone come before those that share, so that each worker leaves modules behind once only.
 */
export default class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const first = WAITING.flatMap(name => sorted.filter(({ moduleId }) => moduleId.endsWith(name)))
    const others = sorted.filter(file => !first.includes(file))
    const isShared = ({ moduleId }: TestSpecification): number => Number(!isAlone(moduleId))
    return [...first, ...others.toSorted((a, b) => isShared(a) - isShared(b))]
  }
}
