import type { Encrypted } from '../values/secret.ts'

/** The role of a cluster in its DR set. @see docs/spec/cluster.md#modes */
export type ClusterMode = 'disabled' | 'primary' | 'secondary' | 'bootstrapping'

/** What a cluster knows of itself; written at initialisation, changed only by compare-and-set. */
export interface ClusterRecord {
  /** UUID of this one cluster */
  id: string
  name: string
  mode: ClusterMode
  /** the keyring whose keys encrypted this cluster's items */
  keyring: string
  /** number of the term that encrypts */
  term: number
  /** edition of the keyring: an environment that holds an earlier one reads the keyring again */
  keyringEdition: number
  /** identity of the term by which this cluster's own keys have been encrypted anew; absent: they have not been */
  ownTerm?: string
  /** epoch milliseconds */
  initialisedAt: number
  /** UUID of the DR set; absent: of none */
  set?: string
  /** epoch of this cluster's own journal, the one that it writes or wrote last */
  epoch?: string
  /** id of the tree over all items; a wipe begins another tree */
  treeId?: string
  /** whether every item has its leaf in the tree; absent: there is no tree */
  treeComplete?: boolean
  /** the position, as text, below which marks on items are leftovers of an earlier journal */
  journalStart?: string
  /** address that secondaries are given, as an administrator has set it; absent: the one under which the cluster is reached */
  clusterAddr?: string
  /** address under which it was reached when it was made a secondary, for workers, whom no request tells; absent: unknown */
  observedAddr?: string
  /** how this cluster takes part in its set; absent: it is in none */
  link?: Link
  /** promotions that the set had been through when this cluster was the last to be promoted; absent: none */
  promotions?: number
  /** the role change that runs; another one has to wait. Absent: none */
  operation?: string
  /** the role change that was given up, if the last one was */
  failedOperation?: string
  /**
   * name of the table in which this cluster became primary, or was admitted by one: in another one this record is a
   * restored copy
   */
  homeTable?: string
}

/**
 * Whether a record is one that point-in-time recovery has brought into other tables: the journal that it speaks of goes
 * on elsewhere, or has gone on, and nobody may go on with it here.
 * @param deployment names the table that it was read from
 */
export const isRestoredCopy = (
  record: Pick<ClusterRecord, 'homeTable'> | undefined,
  deployment: { home: string },
): boolean =>
  record?.homeTable !== undefined && deployment.home !== '' && record.homeTable !== deployment.home

/** Whether it is one of a primary, which serves nobody in that role. */
export const isCopyOfPrimary = (
  record: Pick<ClusterRecord, 'homeTable' | 'mode'> | undefined,
  deployment: { home: string },
): boolean => record?.mode === 'primary' && isRestoredCopy(record, deployment)

/** A secondary's link to its primary. Without a primary it has the own key alone, and all else is empty. */
export interface Link {
  /** id of the operation that brought it about; the head of the journal names it too, so that it counts alone. Absent: '' */
  name?: string
  /** id of the activation token in use */
  secondaryId: string
  /** address in that token: it stays what it was */
  primaryAddr: string
  /** addresses at which the primary may be reached, as it last told */
  primaryAddrs: readonly string[]
  /** Ed25519 public key of the primary, base64: its answers are signed by it */
  primaryKey: string
  ownKey: Encrypted
  /** certificates in PEM by which its address is trusted; absent: the usual ones */
  ca?: string
}

/** The keys of this cluster, in an envelope: encrypted by a data key that its own KMS key wraps. */
export interface Keyring {
  id: string
  /** number of the term that encrypts; all terms decrypt */
  term: number
  /** highest number of the terms that it holds */
  highestTerm: number
  /** grows with every change of the keys, for the life of this cluster, whatever keyring it is */
  edition: number
  /** identity of the term that encrypts */
  activeTerm: string
  /** identities of the terms that it holds */
  termIds: readonly string[]
  /** identities of those that were given up: nobody waits for them. Absent: none */
  destroyedTerms?: readonly string[]
  /** epoch milliseconds at which that term was added */
  since: number
  /** the envelope's data key as KMS wrapped it, base64 */
  wrappedKey: string
  /** keys of all terms, and those that never rotate, encrypted by the data key */
  keys: string
}

/** A keyring as it is made; it gets its edition when it is written together with the cluster record. */
export type MadeKeyring = Omit<Keyring, 'edition'>

/**
 * Returns record and keyring of a change of keys, which are written together: both get the next edition, so that whoever
 * holds an earlier one notices, whatever its terms are.
 */
export const setKeyring = <R extends Partial<ClusterRecord>>(
  record: R,
  keyring: MadeKeyring,
): { record: R & Pick<ClusterRecord, 'keyring' | 'term' | 'keyringEdition'>; keyring: Keyring } => {
  const edition = (record.keyringEdition ?? 0) + 1
  return {
    record: { ...record, keyring: keyring.id, term: keyring.term, keyringEdition: edition },
    keyring: { ...keyring, edition },
  }
}

/** By what recovery shares are judged. Neither a share nor the key that they make together follows from it. */
export interface RecoveryKey {
  shares: number
  /** shares that are needed together */
  threshold: number
  /** hash of the key that they make, base64url */
  verifier: string
  /** hash of each share, base64url */
  shareHashes: readonly string[]
  /** of the OpenPGP keys by which the shares were handed out, lower-case hex; absent: in clear, or nobody knows */
  pgpFingerprints?: readonly string[]
  /** epoch milliseconds */
  since: number
}

/** The link of a cluster that knows no primary, or is one itself. */
export const makeEmptyLink = (ownKey: Encrypted): Link => ({
  secondaryId: '',
  primaryAddr: '',
  primaryAddrs: [],
  primaryKey: '',
  ownKey,
})

/** How a secondary reaches its primary; undefined where it knows none. */
export const primaryOf = ({ link }: Pick<ClusterRecord, 'link'>): Link | undefined =>
  link?.primaryKey ? link : undefined

/** What a deployment says of where its cluster is reached: by clients, and by others of its set, where that is elsewhere. */
export interface Addresses {
  /** of clients; empty: the one that each request was sent to */
  apiAddress: string
  /** of other clusters of a set; empty or absent: `apiAddress` */
  linkAddress?: string | undefined
}

/** Where others of a set reach this cluster, as its deployment says; empty: it does not. */
export const deployedLinkAddress = ({ apiAddress, linkAddress: own }: Addresses): string => own || apiAddress

/** Where others of the set reach this cluster, as far as it is known without being asked; empty: it is not. */
export const linkAddress = (
  { clusterAddr, observedAddr }: Pick<ClusterRecord, 'clusterAddr' | 'observedAddr'>,
  deployment: Addresses,
): string => clusterAddr || deployedLinkAddress(deployment) || observedAddr || ''

/** Where clients reach it, as far as that is known: a link may have an address of its own. */
export const apiAddressOf = (
  { clusterAddr, observedAddr }: Pick<ClusterRecord, 'clusterAddr' | 'observedAddr'>,
  { apiAddress }: { apiAddress: string },
): string => apiAddress || observedAddr || clusterAddr || ''

/** Whether what this cluster writes goes through a journal. */
export const keepsJournal = ({
  mode,
  epoch,
  treeId,
}: Pick<ClusterRecord, 'mode' | 'epoch' | 'treeId'>): boolean =>
  mode === 'primary' && epoch !== undefined && treeId !== undefined

/** Whether this cluster serves clients: a DR secondary does not. */
export const isActive = (record: ClusterRecord): boolean =>
  record.mode === 'disabled' || record.mode === 'primary'
