import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isAlone } from '../test/support/service/running-file.ts'

/** The longest files of `npm test`, `npm run test:slow` and `npm run test:e2e`, longest first. */
const LONGEST = [
  ...['runbooks', 'pair-again', 'roles', 'pair', 'pair-join', 'kill', 'start'].map(name => `e2e/${name}`),
  ...['lives', 'games', 'rivals', 'deaths', 'enable', 'steps', 'primary', 'late'].map(
    name => `alone/replication/${name}`,
  ),
  'alone/contract/fuzz',
  'alone/crash/points',
  // these test files mostly wait for the imitated AWS or for time to pass
  'alone/faults/unfinished-roles',
  'alone/rotate-root/crash',
  'host/alarms',
  'host/command',
  'host/verbs',
]

/**
 * Runs the longest test files first, so that no long file runs alone at the end. Files in `alone/` follow, so
 * that each worker discards its modules only once.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const first = LONGEST.flatMap(name =>
      sorted.filter(({ moduleId }) => moduleId.endsWith(`/${name}.test.ts`)),
    )
    const others = sorted.filter(file => !first.includes(file))
    const isShared = ({ moduleId }: TestSpecification): number => Number(!isAlone(moduleId))
    return [...first, ...others.toSorted((a, b) => isShared(a) - isShared(b))]
  }
}
