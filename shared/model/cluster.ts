import type { EncryptedText } from '../values/secret.ts'

/** The role of a cluster in its DR set. @see docs/spec/cluster.md#modes */
export type ClusterMode = 'disabled' | 'primary' | 'secondary' | 'bootstrapping'

/**
 * The cluster record: a cluster's knowledge of itself. The cluster record is written at initialisation and changes
 * only by compare-and-set.
 */
export interface ClusterRecord {
  /** UUID of this cluster */
  id: string
  name: string
  mode: ClusterMode
  /** `modeSince`: epoch milliseconds of the last change of `mode` within a set; absent: an earlier version changed it */
  modeSince?: number
  /** id of the keyring that encrypts this cluster's items */
  keyring: string
  /** number of the term that encrypts */
  term: number
  /** edition of the keyring; an environment with an earlier edition reads the keyring again */
  keyringEdition: number
  /**
   * `ownTerm`: identity of the term with which this cluster has re-encrypted its own keys; absent: it has not
   * re-encrypted them
   */
  ownTerm?: string
  /** epoch milliseconds */
  initialisedAt: number
  /** UUID of the DR set; absent: the cluster is in no set */
  set?: string
  /** `epoch` that this cluster writes, or wrote last */
  epoch?: string
  /** id of the tree over all items; a wipe begins another tree */
  treeId?: string
  /** `treeComplete`: whether every item has its leaf in the tree; absent: the cluster has no tree */
  treeComplete?: boolean
  /** the position, as text, below which marks on items are left from an earlier journal */
  journalStart?: string
  /** address for secondaries, set by an administrator; absent: the address at which a request reached the cluster */
  clusterAddr?: string
  /**
   * address at which a request reached the cluster when it became a secondary, for workers, which receive no
   * requests; absent: unknown
   */
  observedAddr?: string
  /** `link` of this cluster in its set; absent: the cluster is in no set */
  link?: PrimaryLink
  /** `promotions`: number of promotions in the set, up to and including this cluster's last one; absent: none */
  promotions?: number
  /** `operation`: id of the running role change; another role change must wait. Absent: no role change is running */
  operation?: string
  /** `failedOperation`: id of the last role change, if it failed */
  failedOperation?: string
  /**
   * name of the table in which this cluster became primary, or was admitted. If the record is read from another
   * table, the tables are a restored copy.
   */
  homeTable?: string
}

/**
 * Reports whether a record was restored into other tables by point-in-time recovery. The cluster's journal
 * continues elsewhere, so this copy must not continue it.
 * @param deployment names the table that the record was read from
 */
export const isRestoredCopy = (
  record: Pick<ClusterRecord, 'homeTable'> | undefined,
  deployment: { home: string },
): boolean =>
  record?.homeTable !== undefined && deployment.home !== '' && record.homeTable !== deployment.home

/** Reports whether a record is the restored copy of a primary's. A restored copy serves no clients as a primary. */
export const isCopyOfPrimary = (
  record: Pick<ClusterRecord, 'homeTable' | 'mode'> | undefined,
  deployment: { home: string },
): boolean => record?.mode === 'primary' && isRestoredCopy(record, deployment)

/**
 * A secondary's link to its primary. Without a primary only `ownKey` of the link is set, and the other fields are
 * empty.
 */
export interface PrimaryLink {
  /**
   * `name`: id of the operation that made the link. The head of the journal names the same link, so that only one
   * link is valid. Absent: ''
   */
  name?: string
  /** id of the activation token in use */
  secondaryId: string
  /** `primaryAddr`: address in the activation token; it never changes */
  primaryAddr: string
  /** addresses of the primary, from its last answer */
  primaryAddrs: readonly string[]
  /** Ed25519 public key of the primary, base64; it signs the primary's answers */
  primaryKey: string
  ownKey: EncryptedText
  /** PEM certificates for verifying the primary's address; absent: the default certificates */
  ca?: string
}

/** The keys of this cluster, encrypted by a data key that this cluster's own KMS key wraps. */
export interface Keyring {
  id: string
  /** number of the term that encrypts; all terms decrypt */
  term: number
  /** `highestTerm`: highest number of the keyring's terms */
  highestTerm: number
  /** `edition` grows with every change of the keys, for the life of this cluster, also when the keyring is replaced */
  edition: number
  /** identity of the term that encrypts */
  activeTerm: string
  /** `termIds`: identities of the keyring's terms */
  termIds: readonly string[]
  /** `destroyedTerms`: identities of destroyed terms; readers do not wait for them. Absent: no term was destroyed */
  destroyedTerms?: readonly string[]
  /** epoch milliseconds at which the active term was added */
  since: number
  /** the data key, wrapped by KMS, base64 */
  wrappedKey: string
  /** the keys of all terms and the keys that never rotate, encrypted by the data key */
  keys: string
}

/** A keyring before it is stored. The keyring gets its edition when it is written together with the cluster record. */
export type MadeKeyring = Omit<Keyring, 'edition'>

/**
 * Sets the keyring of a cluster record. Record and keyring are written together and get the next edition, so that
 * every holder of an earlier edition notices the change, whatever the terms are.
 */
export const setRecordKeyring = <R extends Partial<ClusterRecord>>(
  record: R,
  keyring: MadeKeyring,
): { record: R & Pick<ClusterRecord, 'keyring' | 'term' | 'keyringEdition'>; keyring: Keyring } => {
  const edition = (record.keyringEdition ?? 0) + 1
  return {
    record: { ...record, keyring: keyring.id, term: keyring.term, keyringEdition: edition },
    keyring: { ...keyring, edition },
  }
}

/** The verifiers of the recovery key. Neither a share nor the recovery key can be computed from its verifiers. */
export interface RecoveryKey {
  shares: number
  /** number of shares that are needed together */
  threshold: number
  /** hash of the recovery key, base64url */
  verifier: string
  /** hash of each share, base64url */
  shareHashes: readonly string[]
  /**
   * fingerprints of the OpenPGP keys to which the shares were encrypted, lower-case hex; absent: the shares were
   * returned in clear, or their encryption is unknown
   */
  pgpFingerprints?: readonly string[]
  /** epoch milliseconds */
  since: number
}

/** Returns the link of a cluster without a primary. */
export const createEmptyLink = (ownKey: EncryptedText): PrimaryLink => ({
  secondaryId: '',
  primaryAddr: '',
  primaryAddrs: [],
  primaryKey: '',
  ownKey,
})

/** Returns the link to the primary; undefined if this cluster follows no primary. */
export const linkToPrimaryOf = ({ link }: Pick<ClusterRecord, 'link'>): PrimaryLink | undefined =>
  link?.primaryKey ? link : undefined

/**
 * The addresses of a cluster in its deployment settings: for clients, and for other members of its set if the two
 * differ.
 */
export interface DeployedAddresses {
  /** `apiAddress` for clients; empty: the address to which each request was sent */
  apiAddress: string
  /** `linkAddress` for other clusters of the set; empty or absent: `apiAddress` */
  linkAddress?: string | undefined
}

/** The events that a deployment gets. */
export interface DeployedEvents {
  /** whether a worker gets the ends of instances; absent: no, or the function does not need it */
  instanceEvents?: boolean
}

/**
 * Returns the address for other members of the set from the deployment's settings; empty if the settings have no
 * address.
 */
export const deployedLinkAddress = ({ apiAddress, linkAddress: own }: DeployedAddresses): string =>
  own || apiAddress

/** Returns the address for other members of the set, as far as it is known without a request; empty: unknown. */
export const linkAddressOf = (
  { clusterAddr, observedAddr }: Pick<ClusterRecord, 'clusterAddr' | 'observedAddr'>,
  deployment: DeployedAddresses,
): string => clusterAddr || deployedLinkAddress(deployment) || observedAddr || ''

/**
 * Returns the cluster's address for clients, as far as it is known. The link may have another address than clients
 * use.
 */
export const apiAddressOf = (
  { clusterAddr, observedAddr }: Pick<ClusterRecord, 'clusterAddr' | 'observedAddr'>,
  { apiAddress }: { apiAddress: string },
): string => apiAddress || observedAddr || clusterAddr || ''

/** Reports whether this cluster's writes go through a journal. */
export const recordKeepsJournal = ({
  mode,
  epoch,
  treeId,
}: Pick<ClusterRecord, 'mode' | 'epoch' | 'treeId'>): boolean =>
  mode === 'primary' && epoch !== undefined && treeId !== undefined

/** Reports whether this cluster serves clients. A DR secondary serves no clients. */
export const isActiveRecord = (record: ClusterRecord): boolean =>
  record.mode === 'disabled' || record.mode === 'primary'
