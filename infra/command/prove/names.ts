import { randomBytes } from 'node:crypto'

/** The stacks of a run, in the order in which the run makes them. Each stack needs the stacks before it. */
export const proveParts = ['assets', 'data', 'api', 'workers', 'probe'] as const
/** The further stacks of a run in two regions. They are in the other region. */
export const peerParts = ['peer-assets', 'peer-data', 'peer-api', 'peer-workers'] as const
export type PeerPart = (typeof peerParts)[number]
export type ProvePart = (typeof proveParts)[number] | PeerPart

/** Reports whether a stack is in the other region of a run. */
export const isPeerPart = (part: ProvePart): part is PeerPart => part.startsWith('peer-')

/** Tag of everything that a run makes. The tag's value is the run. */
export const RUN_TAG = 'cloud-auth:prove'

const RUN = /^[0-9a-f]{8}$/

/** Creates the name of a run. */
export const createRunName = (): string => randomBytes(4).toString('hex')

export const isRunName = (text: unknown): text is string => typeof text === 'string' && RUN.test(text)

/** Returns the stage of a cluster of a run. Names of stacks, exports and functions contain the stage. */
export const stageOfRun = (run: string, isPeer = false): string => `prove-${run}${isPeer ? '-peer' : ''}`

export const stackNameInRun = (run: string, part: ProvePart): string =>
  `cloud-auth-${stageOfRun(run)}-${part}`

/** Returns the part of a run's stack, or undefined for the name of any other stack. */
export const partOfStackName = (run: string, name: unknown): ProvePart | undefined =>
  [...proveParts, ...peerParts].find(part => stackNameInRun(run, part) === name)
