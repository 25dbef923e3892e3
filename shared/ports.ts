import type { KeyObject } from 'node:crypto'
import type { Journal, JournalView } from './journal/journal.ts'
import type { Addresses, ClusterRecord, MadeKeyring } from './model/cluster.ts'
import type { CountedRefusals } from './model/counted-refusals.ts'
import type { FaultyPart, RecentFault } from './model/fault.ts'
import type { Instance } from './model/instance.ts'
import type { MountTable } from './model/mount.ts'
import type { Term } from './model/term.ts'
import type { KnownCertificate } from './model/trusted-key.ts'
import type { Change } from './storage/changes.ts'
import type { Item, Key, Kind, Partitions } from './storage/kinds.ts'
import type { Entity } from './values/arn.ts'
import type { Encrypted, Secret } from './values/secret.ts'
import type { Measures } from './watching/metrics.ts'
import type { CarryTo } from './wire/carry.ts'
import type { Background, EventBus, Waker, Workflows } from './work-ports.ts'

/** The items of several keys, in their order; undefined where there is none (or it has died). */
export type Items<K extends readonly Key[]> = {
  [I in keyof K]: K[I] extends Key<infer T> ? Item<T> | undefined : never
}

/** The tables. Reads are strongly consistent; `commit` is the only writer. */
export interface Store {
  /** One batch read. */
  read<const K extends readonly Key[]>(keys: K): Promise<Items<K>>
  /** All items of a collection, sorted by name. */
  list<K extends Kind>(where: Partitions<K>, page?: Page): Promise<Item<K>[]>
  /** Items that tidy may remove, in pages: `due` before the given epoch second. The cost is that of what is found. */
  due<K extends Kind>(where: Partitions<K>, before: number): AsyncIterable<Due<K>[]>
  /** Items of some kinds of one table wherever they stand, in pages; the cost is that of reading the whole table. */
  scan<K extends Kind>(kinds: OneOrMore<K>, segment: ScanSegment): AsyncIterable<Scanned<K>>
  /**
   * Writes all changes or none. A conflict means that something is no longer as it was read: read again and
   * judge again.
   * @throws ApiError `busy` when the engine cannot take the write now, or the cluster record is too old
   */
  commit(changes: readonly Change[], as: ClusterRead, options?: CommitOptions): Promise<'done' | 'conflict'>
}

export interface CommitOptions {
  /** attempts while the engine cannot take the write; default 5 */
  tries?: number
}

export type OneOrMore<T> = T | readonly T[]

export interface Page {
  /** names greater than this one */
  after?: string
  limit?: number
}

/** An entry of the index `expiry`: enough to delete it as it was seen. */
export type Due<K extends Kind> = Key<K> & Pick<Item, 'rev' | 'inTree'> & { readonly due: number }

export interface ScanSegment {
  index: number
  of: number
  /** where an earlier scan of the segment stopped; absent: at its beginning */
  from?: Cursor | undefined
  /** items that each call of the scan reads at most, whatever their kind; absent: as many as one call takes */
  limit?: number
}

/** A page of a scan. */
export interface Scanned<K extends Kind> {
  items: Item<K>[]
  /** where the segment goes on; absent at its end */
  next?: Cursor
}

export interface Cursor {
  pk: string
  sk: string
}

/** The cluster record with the moment it was read, epoch milliseconds: commits refuse one that is too old. */
export interface ClusterRead {
  record: ClusterRecord
  readAt: number
}

/** The keyring at work. Its keys never leave the adapter. */
export interface FieldCipher {
  /** what a new environment needs of the tables, to be read along with the cluster record; the first caller is told alone */
  keysToRead(): Key<'keyring'>[]
  /**
   * Tells what the cluster record says: a remembered keyring of another name, or of an earlier edition, is forgotten.
   * @param keyring as it was read along, if it was
   */
  expectKeyring(record: Pick<ClusterRecord, 'keyring' | 'keyringEdition'>, keyring?: Item<'keyring'>): void
  encrypt(key: Key, field: string, text: string): Promise<Encrypted>
  decrypt(key: Key, field: string, text: Encrypted): Promise<Secret>
  /** The same text by the term that encrypts. `current`: it is already; `unreadable`: no term of this cluster opens it. */
  reencrypt(key: Key, field: string, text: Encrypted): Promise<Encrypted | 'current' | 'unreadable'>
  /** a batch token's content, encrypted and decrypted again; undefined for anything that we did not encrypt */
  encryptToken(content: string): Promise<string>
  decryptToken(text: string): Promise<SealedToken | undefined>
  /**
   * The keyring for another cluster of the set: sealed to that one's X25519 key, 32 bytes, and bound to the set.
   * @param set UUID
   */
  exportTo(recipient: Uint8Array, set: string): Promise<{ keyring: string; term: number }>
  /** `hmac-sha256:…` of a value, for the audit log and for accessors: the same for the life of the cluster */
  hmac(text: string): Promise<string>
}

/** A keyring that is not stored yet, under a new data key of this cluster's own KMS key. */
export interface NewKeyring {
  keyring: MadeKeyring
  /** works with it before it is stored */
  cipher: Pick<FieldCipher, 'encrypt'>
  /** all terms that it holds, oldest first */
  terms: readonly TermInfo[]
}

/** What is told of a term by who holds it. `id`: its identity. */
export type TermInfo = Pick<Term, 'number' | 'probe'> & {
  id: string
  /** raw Ed25519 public key of this cluster's own signer of it, base64; absent: it has none */
  signer?: string
}

/** A batch token as it was sealed: who signed it, and whether its term still counts, is told by the term's item. */
export interface SealedToken {
  content: string
  /** identity of the term that encrypted it */
  term: string
  signature: Buffer
}

/** Makes keys. Times are epoch milliseconds. */
export interface KeyFactory {
  newKeyring(now: number): Promise<NewKeyring>
  /**
   * The keyring with one more term, which encrypts from now on.
   * @param id of the keyring that it becomes; absent: it stays the same one
   */
  addNextTerm(keyring: MadeKeyring, now: number, id?: string): Promise<NewKeyring>
  /**
   * A keyring that another cluster exported, under this cluster's own key.
   * @param own X25519, to which it was sealed
   * @throws Error when it was not sealed to this key, or for another set
   */
  importFrom(exported: string, own: KeyObject, set: string, now: number): Promise<NewKeyring>
  /**
   * A keyring with the terms of another one besides.
   * @param lost whether those are terms that the set has lost: fields open by them, and no batch token counts
   */
  unite(leading: MadeKeyring, other: MadeKeyring, now: number, lost?: boolean): Promise<NewKeyring>
  /**
   * A keyring that has given up terms for good.
   * @param ids identities
   * @throws Error when one of them encrypts
   */
  removeTerms(keyring: MadeKeyring, ids: readonly string[], now: number): Promise<MadeKeyring>
  /** A keyring with a signer of this cluster's own for the term that encrypts. */
  addSigner(keyring: MadeKeyring, now: number): Promise<NewKeyring>
}

/** Where a call to AWS goes, and as whom. */
export interface AwsTarget {
  region: string
  /** 12 digits: the account whose resources are looked at */
  account: string
  client: ProviderSettings
  /** role to assume for that account; absent: the account must be the server's own */
  assume?: { role: string; externalId: string }
}

/** What a mount's client configuration says about calls to AWS. */
export interface ProviderSettings {
  /** changes whenever the settings do: clients are cached by it */
  version: string
  credentials?: { accessKey: string; secretKey: Secret }
  /** used while the first is not yet known everywhere, after a rotation */
  previous?: { accessKey: string; secretKey: Secret }
  /** negative: the SDK's default */
  maxRetries: number
  endpoint: string
  iamEndpoint: string
  stsEndpoint: string
  stsRegion: string
}

/** A user, role or instance profile as IAM knows it. */
export interface Principal {
  arn: string
  /** AIDA…, AROA…, AIPA… */
  uniqueId: string
}

export interface InstanceProfile extends Principal {
  roleArns: readonly string[]
}

/** EC2. Faults of the provider are thrown as ApiError `provider_failed` or `busy`. */
export interface Instances {
  /** undefined when EC2 knows no such instance */
  describe(target: AwsTarget, instanceId: string, deadline: number): Promise<Instance | undefined>
  /** Loads what `describe` needs, which otherwise loads it when it is first called. */
  load(): Promise<void>
}

/** IAM. Undefined when there is no such entity. */
export interface Principals {
  find(
    target: AwsTarget,
    entity: Pick<Entity, 'type' | 'name'>,
    deadline: number,
  ): Promise<Principal | undefined>
  profile(target: AwsTarget, name: string, deadline: number): Promise<InstanceProfile | undefined>
}

/** A caller-identity request, rebuilt from parts, ready to be sent. */
export interface StsRequest {
  method: 'GET' | 'POST'
  /** where to connect: scheme, host, port */
  endpoint: string
  /** what the signature names */
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

/** STS, called with the caller's own signature: needs no credentials of ours. */
export interface CallerIdentity {
  forward(request: StsRequest, deadline: number): Promise<StsAnswer>
}

/** Access keys of the IAM user that a mount is configured with. */
export interface AccessKeys {
  owner(settings: ProviderSettings, deadline: number): Promise<{ userName?: string }>
  list(settings: ProviderSettings, userName: string, deadline: number): Promise<KnownKey[]>
  create(
    settings: ProviderSettings,
    userName: string,
    deadline: number,
  ): Promise<{ accessKey: string; secretKey: Secret }>
  delete(settings: ProviderSettings, userName: string, accessKey: string, deadline: number): Promise<void>
  /** whether a key is accepted by now */
  works(settings: ProviderSettings, deadline: number): Promise<boolean>
}

export interface KnownKey {
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

/** Writes one entry of the audit log; a request whose entry cannot be written fails. */
export interface Audit {
  write(entry: Readonly<Record<string, unknown>>): Promise<void>
}

/** Writes a line; with numbers it makes metrics, whose dimensions are among its fields. @see docs/look-up/monitoring.md#metrics */
export type Write = (
  message: string,
  fields: Readonly<Record<string, unknown>>,
  measures?: Readonly<Measures>,
) => void

export interface Log {
  info: Write
  warn: Write
  error: Write
}

/** What stands between callers and the front end: a distribution of CloudFront, say. */
export interface FrontProxy {
  /**
   * SHA-256, lower-case hex, of each secret by which requests show that they came through it: two while one takes
   * the place of the other
   */
  secretHashes: readonly string[]
  /** proxies that append to X-Forwarded-For the address they were called from, one behind the other */
  hops: number
}

/** Settings of the deployment that rules depend on. */
export interface Deployment extends Addresses {
  /** of this product */
  version: string
  /** the version of the API that is spoken: clients switch features by it */
  apiVersion: string
  clusterName: string
  /** name of the table `cluster` */
  home: string
  /** region that this cluster runs in */
  region: string
  /** trust the built-in DSA and RSA-1024 certificates, and SHA-1 */
  legacySignatures: boolean
  /** accept `http://` endpoints in client configurations: only where the provider is an imitation */
  plainEndpoints: boolean
  /** role ARN patterns that a satellite account's role must match; trailing and inner `*` */
  assumableRoles: readonly string[]
  /** fingerprints of the only OpenPGP keys that initialisation takes, lower-case hex; empty: any, or none */
  initPgpKeys: readonly string[]
  /** starting and cancelling a ceremony of a DR secondary takes a token, or a direct call of its function */
  strictCeremony: boolean
  /** what stands before the front end; absent: callers reach it themselves */
  proxy?: FrontProxy | undefined
  /** health is not 200 while KMS does not open the keyring */
  healthChecksKeyring: boolean
  /** for functions that are told it: a JWT, empty when there is none, and the Ed25519 key that signs it, DER as base64 */
  license: { text: string; publicKey: string }
}

/** Certificates of authorities that a deployment brings along (setting `caBundles`). */
export interface Authorities {
  /** PEM by name; names are paths with `/` */
  shipped(): Promise<ReadonlyMap<string, string>>
}

/** What a handler may reach. Each endpoint names what it uses; the rest throws. */
export interface Ports {
  store: Store
  journal: Journal
  journalView: JournalView
  cipher: FieldCipher
  instances: Instances
  principals: Principals
  callerIdentity: CallerIdentity
  accessKeys: AccessKeys
  background: Background
  puller: Waker
  /** asks other clusters of the set */
  carryTo: CarryTo
  workflows: Workflows
  events: EventBus
  authorities: Authorities
  keyFactory: KeyFactory
  clock: Clock
  entropy: Entropy
  audit: Audit
  log: Log
  deployment: Deployment
  meter: Meter
  /** things remembered from earlier requests that are only ever used as a guess and confirmed by a read */
  keyHints: Map<string, string>
  memory: Memory
}

/** What an environment keeps of the last request. It may be served much later: an environment freezes. */
export interface Memory {
  /** believed only while the revision, which is read with every request, is the same */
  mounts?: { rev: string; table: MountTable }
  /** serves refusals that do not depend on it, and only for seconds */
  cluster?: ClusterRead
  /** by mount and form of the proof, what vouched last: believed only where its revision is read with the login */
  certificates?: Map<string, KnownCertificate>
  /** by why it was refused */
  refusals?: Map<string, CountedRefusals>
  /** whether KMS opened the keyring when it was asked for health, epoch milliseconds */
  keyring?: { at: number; opens: boolean }
  /** parts that failed when they were needed last, as they were noted */
  faults?: Map<FaultyPart, RecentFault>
}

/** Counts calls for the piece of work that makes them; an environment may do several at once. */
export interface Meter {
  count(service: string): void
  /** does some work, and tells the numbers of its calls by service */
  measure<T>(work: () => Promise<T>): Promise<{ value: T; calls: Record<string, number> }>
}
