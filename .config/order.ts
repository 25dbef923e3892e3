import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isAlone } from '../test/support/service/running-file.ts'

/** The longest files of `npm test` and of `npm run test:e2e`, the longest first. */
const LONGEST = [
  ...['runbooks', 'pair-again', 'roles', 'pair', 'pair-join', 'kill', 'start'].map(name => `e2e/${name}`),
  ...['lives', 'games', 'rivals', 'deaths', 'enable', 'steps', 'primary', 'late'].map(
    name => `alone/replication/${name}`,
  ),
  'alone/contract/fuzz',
  'alone/crash/points',
  // these wait most of their time, for the imitated AWS or for times that pass
  'alone/faults/unfinished-roles',
  'alone/rotate-root/crash',
  'host/alarms',
  'host/command',
  'host/verbs',
]

/**
 * Begins with the longest files, so that none of them runs alone at the end. Then come files that are alone, so that each
 * worker discards the modules of tests once only.
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
