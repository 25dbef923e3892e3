import type { KeyObject } from 'node:crypto'
import type { Journal, JournalStatusView } from './journal/journal.ts'
import type { ClusterRecord, DeployedAddresses, DeployedEvents, MadeKeyring } from './model/cluster.ts'
import type { CountedRefusals } from './model/counted-refusals.ts'
import type { FaultyPart, RecentFault } from './model/fault.ts'
import type { Instance } from './model/instance.ts'
import type { IssuerKeyFetcher, IssuerMemory } from './model/issuer-memory.ts'
import type { MountTable } from './model/mount.ts'
import type { OrganizationReader } from './model/organization.ts'
import type { KeyringTerm } from './model/term.ts'
import type { KnownCertificate } from './model/trusted-key.ts'
import type { Change } from './storage/changes.ts'
import type { Item, ItemPartitions, Key, Kind } from './storage/kinds.ts'
import type { IamEntity } from './values/arn.ts'
import type { EncryptedText, Secret } from './values/secret.ts'
import type { MetricMeasures } from './watching/metrics.ts'
import type { CreateLinkCarrier } from './wire/carry.ts'
import type { BackgroundJobs, EventBus, PullerWaker, WorkflowStarter } from './work-ports.ts'

/** The items of several keys, in order; undefined for a key without an item, and for an expired item. */
export type ItemsOfKeys<K extends readonly Key[]> = {
  [I in keyof K]: K[I] extends Key<infer T> ? Item<T> | undefined : never
}

/** The tables. Reads are strongly consistent; `commit` is the only writer. */
export interface ItemStore {
  /** Reads items in one batch read. */
  read<const K extends readonly Key[]>(keys: K): Promise<ItemsOfKeys<K>>
  /** Returns all items of a collection, sorted by name. */
  list<K extends Kind>(where: ItemPartitions<K>, page?: ListPage): Promise<Item<K>[]>
  /** Yields items whose `due` is before an epoch second, in pages. This listing costs as much as reading its items. */
  due<K extends Kind>(where: ItemPartitions<K>, before: number): AsyncIterable<DueItem<K>[]>
  /** Yields all items of some kinds, in pages. A scan costs as much as reading the whole table. */
  scan<K extends Kind>(kinds: OneOrMore<K>, segment: ScanSegment): AsyncIterable<ScannedPage<K>>
  /**
   * Writes all changes or none. A conflict means that an item has changed since it was read: read again and decide
   * again.
   * @throws ApiError `busy` when DynamoDB cannot take the write now, or the cluster record is too old
   */
  commit(changes: readonly Change[], as: ClusterRead, options?: CommitOptions): Promise<'done' | 'conflict'>
}

export interface CommitOptions {
  /** attempts while DynamoDB cannot take the write; default 5 */
  tries?: number
}

export type OneOrMore<T> = T | readonly T[]

export interface ListPage {
  /** only names after this one; empty: all names */
  after?: string
  limit?: number
}

/** An entry of the index `expiry`, with what is needed to delete an unchanged item. */
export type DueItem<K extends Kind> = Key<K> & Pick<Item, 'rev' | 'inTree'> & { readonly due: number }

export interface ScanSegment {
  index: number
  of: number
  /** where an earlier scan of the segment stopped; absent: at its beginning */
  from?: ScanCursor | undefined
  /** the maximum number of items, of any kind, that each call reads; absent: as many as one call takes */
  limit?: number
}

/** A page of a scan. */
export interface ScannedPage<K extends Kind> {
  items: Item<K>[]
  /** where the segment continues; absent at its end */
  next?: ScanCursor
}

export interface ScanCursor {
  pk: string
  sk: string
}

/** The cluster record, and when it was read, epoch milliseconds. Commits refuse a record that is too old. */
export interface ClusterRead {
  record: ClusterRecord
  readAt: number
}

/** Encrypts and decrypts with the keyring. The keys never leave the adapter. */
export interface FieldCipher {
  /**
   * Returns the keys of items to read together with the cluster record, if the keyring is still unread. Only the
   * first caller gets one.
   */
  keysToRead(): Key<'keyring'>[]
  /**
   * Discards the remembered keyring if the cluster record names another keyring or a later edition.
   * @param keyring the keyring item, if it was read together with the record
   */
  expectKeyring(record: Pick<ClusterRecord, 'keyring' | 'keyringEdition'>, keyring?: Item<'keyring'>): void
  encrypt(key: Key, field: string, text: string): Promise<EncryptedText>
  decrypt(key: Key, field: string, text: EncryptedText): Promise<Secret>
  /**
   * Re-encrypts a text with the active term. `current`: the active term has encrypted it already. `unreadable`: no
   * term of this cluster decrypts it.
   */
  reencrypt(key: Key, field: string, text: EncryptedText): Promise<EncryptedText | 'current' | 'unreadable'>
  /** Encrypts the content of a batch token. `decryptToken` returns undefined for any other text. */
  encryptToken(content: string): Promise<string>
  decryptToken(text: string): Promise<SealedToken | undefined>
  /**
   * Exports the keyring for another cluster of the set: sealed to that cluster's X25519 key, 32 bytes, and bound to
   * the set.
   * @param set UUID
   */
  exportTo(recipient: Uint8Array, set: string): Promise<{ keyring: string; term: number }>
  /** Returns `hmac-sha256:…` of a value, for the audit log and for accessors. It never changes. */
  hmac(text: string): Promise<string>
}

/** A new keyring that is not stored yet, encrypted with a new data key of this cluster's own KMS key. */
export interface NewKeyring {
  keyring: MadeKeyring
  /** encrypts with the keyring before it is stored */
  cipher: Pick<FieldCipher, 'encrypt'>
  /** all of its terms, oldest first */
  terms: readonly TermInfo[]
}

/** The public facts about a term, from a cluster that has its key. */
export type TermInfo = Pick<KeyringTerm, 'number' | 'probe'> & {
  id: string
  /** raw Ed25519 public key of this cluster's signer of the term, base64; absent: it has none */
  signer?: string
}

/** A decrypted batch token, before its signature and its term are checked. */
export interface SealedToken {
  content: string
  /** identity of the term that encrypted it */
  term: string
  signature: Buffer
}

/** Creates keyrings and changes their terms. Times are epoch milliseconds. */
export interface KeyFactory {
  newKeyring(now: number): Promise<NewKeyring>
  /**
   * Adds a term, which encrypts from now on.
   * @param id of the resulting keyring; absent: unchanged
   */
  addNextTerm(keyring: MadeKeyring, now: number, id?: string): Promise<NewKeyring>
  /**
   * Imports a keyring that another cluster exported, and encrypts it with this cluster's own KMS key.
   * @param own the X25519 key to which it was sealed
   * @throws Error when the text was sealed to another key, or for another set
   */
  importFrom(exported: string, own: KeyObject, set: string, now: number): Promise<NewKeyring>
  /**
   * Unites the terms of two keyrings. The active term of `leading` encrypts.
   * @param lost whether the set has lost the terms that only `other` has: then they only decrypt fields, and no batch
   * token of them counts
   */
  unite(leading: MadeKeyring, other: MadeKeyring, now: number, lost?: boolean): Promise<NewKeyring>
  /**
   * Removes terms permanently.
   * @param ids identities
   * @throws Error when one of them encrypts
   */
  removeTerms(keyring: MadeKeyring, ids: readonly string[], now: number): Promise<MadeKeyring>
  /** Adds this cluster's own signer for the term that encrypts. */
  addSigner(keyring: MadeKeyring, now: number): Promise<NewKeyring>
}

/** The account and region of a call to AWS, and the credentials for it. */
export interface AwsTarget {
  region: string
  /** 12 digits: the account of the resources */
  account: string
  client: ProviderSettings
  /** role to assume for that account; absent: the account must be the server's own */
  assume?: { role: string; externalId: string }
}

/** The settings of a mount's client configuration for calls to AWS. */
export interface ProviderSettings {
  /** version of the settings, by which clients are cached */
  version: string
  credentials?: { accessKey: string; secretKey: Secret }
  /** the key pair before the last rotation, used while AWS does not know the new key pair everywhere */
  previous?: { accessKey: string; secretKey: Secret }
  /** maximum number of retries; negative: the SDK's default */
  maxRetries: number
  endpoint: string
  iamEndpoint: string
  stsEndpoint: string
  stsRegion: string
}

/** A user (AIDA…), role (AROA…) or instance profile (AIPA…) as IAM knows it. `trustPolicy`: JSON, only of roles. */
export interface IamPrincipal {
  arn: string
  uniqueId: string
  trustPolicy?: string
}

export interface InstanceProfile extends IamPrincipal {
  roleArns: readonly string[]
}

/** EC2. Faults of the provider are thrown as ApiError `provider_failed` or `busy`. */
export interface InstanceLookUps {
  /** Returns undefined when EC2 does not know the instance. */
  describe(target: AwsTarget, instanceId: string, deadline: number): Promise<Instance | undefined>
  /** Loads the code that `describe` needs, which otherwise is loaded at the first call. */
  load(): Promise<void>
}

/** Looks up entities in IAM. The result is undefined for an unknown entity. */
export interface PrincipalLookUps {
  find(
    target: AwsTarget,
    entity: Pick<IamEntity, 'type' | 'name'>,
    deadline: number,
  ): Promise<IamPrincipal | undefined>
  profile(target: AwsTarget, name: string, deadline: number): Promise<InstanceProfile | undefined>
}

/** A client's signed caller-identity request, rebuilt from its parts. */
export interface StsRequest {
  method: 'GET' | 'POST'
  /** where to connect: scheme, host, port */
  endpoint: string
  /** the host in the signature */
  host: string
  /** path and query, as signed */
  target: string
  headers: readonly (readonly [name: string, value: string])[]
  body: string
  maxRetries: number
}

export interface StsAnswer {
  status: number
  contentType: string
  body: string
}

/** Forwards requests to STS with the client's own signature. Forwarding to STS needs no credentials of this service. */
export interface StsForwarder {
  forward(request: StsRequest, deadline: number): Promise<StsAnswer>
}

/** Manages the access keys of a mount's configured IAM user. */
export interface AccessKeyManager {
  owner(settings: ProviderSettings, deadline: number): Promise<{ userName?: string }>
  list(settings: ProviderSettings, userName: string, deadline: number): Promise<RememberedKey[]>
  create(
    settings: ProviderSettings,
    userName: string,
    deadline: number,
  ): Promise<{ accessKey: string; secretKey: Secret }>
  delete(settings: ProviderSettings, userName: string, accessKey: string, deadline: number): Promise<void>
  /** Reports whether AWS accepts a key by now. */
  works(settings: ProviderSettings, deadline: number): Promise<boolean>
}

export interface RememberedKey {
  accessKey: string
  /** epoch milliseconds */
  createdAt: number
}

export interface Clock {
  /** epoch milliseconds */
  now(): number
  sleep(ms: number): Promise<void>
}

export interface Entropy {
  bytes(length: number): Buffer
  uuid(): string
}

/** Writes one entry of the audit log. A request whose entry cannot be written fails. */
export interface AuditLog {
  write(entry: Readonly<Record<string, unknown>>): Promise<void>
}

/**
 * Writes a log line. `measures` become metrics with dimensions from `fields`.
 * @see docs/look-up/monitoring.md#metrics
 */
export type WriteLogLine = (
  message: string,
  fields: Readonly<Record<string, unknown>>,
  measures?: Readonly<MetricMeasures>,
) => void

export interface Log {
  info: WriteLogLine
  warn: WriteLogLine
  error: WriteLogLine
}

/** A proxy between clients and the front end, for example a CloudFront distribution. */
export interface FrontProxy {
  /** SHA-256, hex, of the secrets that the proxy adds to requests; two while one replaces the other */
  secretHashes: readonly string[]
  /** number of proxies in a row that append their caller's address to X-Forwarded-For */
  hops: number
}

/** The settings of the deployment that handlers use. */
export interface Deployment extends DeployedAddresses, DeployedEvents {
  /** version of this product */
  version: string
  /** the API version that clients see; they choose features by it */
  apiVersion: string
  clusterName: string
  /** name of the table `cluster` */
  home: string
  /** region that this cluster runs in */
  region: string
  /** whether the built-in DSA and RSA-1024 certificates, and SHA-1, are trusted */
  legacySignatures: boolean
  /** whether client configurations may have `http://` endpoints; only for an imitated AWS */
  plainEndpoints: boolean
  /** role ARN patterns that a satellite account's role must match; trailing and inner `*` */
  assumableRoles: readonly string[]
  /** lower-case hex fingerprints of the OpenPGP keys that initialisation requires; empty: any key, or none */
  initPgpKeys: readonly string[]
  /** whether starting and cancelling a ceremony on a DR secondary needs a token or a direct call of its function */
  strictCeremony: boolean
  /** the proxy before the front end; absent: clients reach the front end directly */
  proxy?: FrontProxy | undefined
  /** whether health is an error while KMS does not decrypt the keyring */
  healthChecksKeyring: boolean
  /** a JWT, and the Ed25519 key that verifies it (DER, base64); empty in functions that do not need it */
  license: { text: string; publicKey: string }
}

/** The certificates of authorities that a deployment ships (setting `caBundles`). */
export interface Authorities {
  /** PEM by name; names are paths with `/` */
  shipped(): Promise<ReadonlyMap<string, string>>
}

/** The ports of handlers. Each endpoint declares the uses of its ports; any other port throws. */
export interface Ports {
  store: ItemStore
  journal: Journal
  journalView: JournalStatusView
  cipher: FieldCipher
  instances: InstanceLookUps
  principals: PrincipalLookUps
  callerIdentity: StsForwarder
  issuerKeys: IssuerKeyFetcher
  accessKeys: AccessKeyManager
  organizations: OrganizationReader<AwsTarget>
  background: BackgroundJobs
  puller: PullerWaker
  /** calls other clusters of the set */
  carryTo: CreateLinkCarrier
  workflows: WorkflowStarter
  events: EventBus
  authorities: Authorities
  keyFactory: KeyFactory
  clock: Clock
  entropy: Entropy
  audit: AuditLog
  log: Log
  deployment: Deployment
  meter: CallMeter
  /** values from earlier requests that are used only as guesses, and are confirmed by a read */
  keyHints: Map<string, string>
  memory: EnvironmentMemory
}

/** Values that an environment keeps between requests. They may be old, because an environment may be frozen. */
export interface EnvironmentMemory {
  /** valid only while the revision, which every request reads, is the same */
  mounts?: { rev: string; table: MountTable }
  /** used only for seconds, and only for refusals that do not depend on its details */
  cluster?: ClusterRead
  /** the last verifying certificate, by mount and form of the proof; used only if its revision is unchanged */
  certificates?: Map<string, KnownCertificate>
  issuers?: IssuerMemory
  /** by the reason of the refusals */
  refusals?: Map<string, CountedRefusals>
  /** whether KMS decrypted the keyring at the last health request, epoch milliseconds */
  keyring?: { at: number; opens: boolean }
  /** parts that failed when they were last used, as recorded */
  faults?: Map<FaultyPart, RecentFault>
}

/** Counts the calls of each piece of work. An environment may run several at once. */
export interface CallMeter {
  count(service: string): void
  /** Runs some work, and returns its numbers of calls by service. */
  measure<T>(work: () => Promise<T>): Promise<{ value: T; calls: Record<string, number> }>
}
