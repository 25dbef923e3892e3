import { randomBytes } from 'node:crypto'

/** The stacks of a run, in the order in which the run makes them. Each stack needs the stacks before it. */
export const proveParts = ['assets', 'data', 'api', 'workers', 'probe'] as const
export type ProvePart = (typeof proveParts)[number]

/** Tag of everything that a run makes. The tag's value is the run. */
export const RUN_TAG = 'cloud-auth:prove'

const RUN = /^[0-9a-f]{8}$/

/** Creates the name of a run. */
export const createRunName = (): string => randomBytes(4).toString('hex')

export const isRunName = (text: unknown): text is string => typeof text === 'string' && RUN.test(text)

/** Returns the stage of a run. Names of stacks, exports and functions contain the stage. */
export const stageOfRun = (run: string): string => `prove-${run}`

export const stackNameInRun = (run: string, part: ProvePart): string =>
  `cloud-auth-${stageOfRun(run)}-${part}`

/** Returns the part of a run's stack, or undefined for the name of any other stack. */
export const partOfStackName = (run: string, name: unknown): ProvePart | undefined =>
  proveParts.find(part => stackNameInRun(run, part) === name)
