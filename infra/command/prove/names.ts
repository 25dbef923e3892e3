import { randomBytes } from 'node:crypto'

/** The stacks of a run, in the order in which the run makes them. Each stack needs the stacks before it. */
export const proveParts = ['assets', 'data', 'api', 'workers', 'probe'] as const
/** The further stacks of a run in two regions. They are in the other region. */
export const peerParts = ['peer-assets', 'peer-data', 'peer-api', 'peer-workers'] as const
/** The further stack of a run with an EKS cluster. It is in the first region. */
const podParts = ['pod'] as const
export type PeerPart = (typeof peerParts)[number]
export type ProvePart = (typeof proveParts)[number] | PeerPart | (typeof podParts)[number]
/** Something that a run makes and deletes: a stack, or the namespace in the EKS cluster. */
export type ProveItem = ProvePart | 'namespace'

/** The places of a run, apart from its first region. */
interface FurtherPlaces {
  /** the other region of a run in two regions */
  peerRegion?: string
  /** name of the EKS cluster in which the run makes a namespace */
  eksCluster?: string
}

/** Lists the stacks of a run, in the order in which the run makes them. */
export const listParts = ({ peerRegion, eksCluster }: FurtherPlaces): ProvePart[] => [
  ...proveParts,
  ...(eksCluster === undefined ? [] : podParts),
  ...(peerRegion === undefined ? [] : peerParts),
]

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

/** Returns the name of something that a run makes. */
export const nameInRun = (run: string, item: ProveItem): string =>
  item === 'namespace' ? `cloud-auth-${stageOfRun(run)}` : stackNameInRun(run, item)

/** Returns what of a run has a name, or undefined for the name of anything else. */
export const findItem = (run: string, places: FurtherPlaces, name: unknown): ProveItem | undefined =>
  [...listParts(places), ...(places.eksCluster === undefined ? [] : (['namespace'] as const))].find(
    item => nameInRun(run, item) === name,
  )
