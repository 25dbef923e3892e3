import type { JournalHead } from '../../journal/head.ts'
import { compareLineages } from '../../journal/position.ts'
import { NO_TERMS_NEEDED } from '../../journal/terms.ts'
import { LINK_FORMAT, LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from '../../link/source.ts'
import { type ClusterRecord, isRestoredCopy } from '../../model/cluster.ts'
import type { TreeReindex } from '../../model/tree-work.ts'
import { termNumberOf } from '../../storage/encryption.ts'
import { type Item, itemPartitions, type Key, key } from '../../storage/kinds.ts'
import { tryOpenKeyring } from '../../system/keyring.ts'
import { defined } from '../../values/defined.ts'
import { ok, PENDING_RESULT, type Result } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import type { EncryptedText } from '../../values/secret.ts'
import { isTreeCorrupted } from '../check/corrupted.ts'
import type { ConnectToPeer } from '../secondary/connect.ts'
import {
  createFollower,
  type Follower,
  type FollowerPorts,
  fetchNeededTerms,
  heldTermsOf,
  sendHeartbeat,
} from '../secondary/follower.ts'
import { addSilenceTime } from '../secondary/silence.ts'
import type { JwtLoginFacts, PrimaryFacts, PromotionFacts } from './decide.ts'

/** The dependencies of gathering facts. */
export interface PromotionFactsRun {
  readonly ports: FollowerPorts
  readonly connect: ConnectToPeer
  /** epoch milliseconds: deadline of all calls to the primary */
  readonly deadline: number
}

/**
 * Gathers all facts that decide a promotion, by calls and reads. Changes nothing, except that the primary stores a
 * heartbeat.
 */
export async function gatherPromotionFacts(
  run: PromotionFactsRun,
  record: ClusterRecord,
): Promise<PromotionFacts> {
  const { ports } = run
  // the time is taken first, because a process that is frozen later must not make old facts look new
  const now = ports.clock.now()
  const [contact, puller, check, reindex, diverging] = await ports.store.read([
    key('contact'),
    key('puller'),
    key('tree-check'),
    key('tree-reindex'),
    key('diverging'),
  ])
  const head = await ports.journal.head()
  const keyring = await tryOwnKeyring(ports, record)
  const silent: PrimaryFacts = contact
    ? { state: 'silent', lastAnswerAt: contact.data.at, silentMs: addSilenceTime(contact.data, now) }
    : { state: 'silent', silentMs: 0 }
  // without the link's keys this cluster cannot call the primary
  const primary =
    keyring.failed.length === 0 && head ? await askPrimary(run, head, { silent, puller }) : silent
  const missing = await findMissingTerm(ports, primary, contact?.data.term)
  return {
    head,
    keyring: { ...keyring, ...defined({ missing }) },
    format: LINK_FORMAT,
    primary,
    copied: isRestoredCopy(record, ports.deployment),
    corrupted: isTreeCorrupted(record, check, diverging),
    reindexing: reindex !== undefined && isReindexing(reindex.data, record),
    stuck: puller?.data.fault,
    lastKnownPosition: contact?.data.seq,
    jwtLogins: await readJwtLogins(ports),
    instanceEvents: ports.deployment.instanceEvents,
    now,
  }
}

/** Reads what the mounts with `config/jwt` allow; undefined without such a mount. */
async function readJwtLogins({ store }: Pick<FollowerPorts, 'store'>): Promise<JwtLoginFacts | undefined> {
  const [mounts] = await store.read([key('mounts')])
  const places = (mounts?.data.mounts ?? []).map(({ accessor }) => key('jwt-config', accessor))
  const configs = (await store.read(places)).flatMap(item => (item ? [item.data] : []))
  if (configs.length === 0) return undefined
  const once = configs.filter(({ singleUse }) => singleUse)
  return {
    onceSeconds: Math.max(0, ...once.map(({ maxTokenAge, leeway }) => maxTokenAge + leeway)),
    learns: configs.some(({ organizations }) => organizations.length > 0),
  }
}

const isReindexing = ({ treeId, stage }: TreeReindex, record: ClusterRecord): boolean =>
  treeId === record.treeId && stage !== 'done' && stage !== 'failed'

/**
 * Decrypts fields that older terms and the newest term encrypted. The function first makes KMS unwrap the keyring
 * again; if the unwrap fails, the function tries no field.
 */
export async function tryOwnKeyring(
  { store, cipher }: Pick<FollowerPorts, 'store' | 'cipher'>,
  record: ClusterRecord,
): Promise<PromotionFacts['keyring']> {
  const keyring = await tryOpenKeyring(cipher, record)
  if (!keyring.ok) return { opened: 0, failed: [keyring.fault] }
  const [[mounts], terms] = await Promise.all([
    store.read([key('mounts')]),
    store.list(itemPartitions('term')),
  ])
  const configs = await store.read(
    (mounts?.data.mounts ?? []).map(({ accessor }) => key('client-config', accessor)),
  )
  const found: [place: Key, field: string, text: EncryptedText | undefined][] = [
    [key('cluster'), 'ownKey', record.link?.ownKey],
    ...terms
      .filter(({ data }) => data.destroyed === undefined)
      .map((one): [Key, string, EncryptedText] => [one, 'probe', one.data.probe]),
    ...configs
      .filter((one): one is Item<'client-config'> => one !== undefined)
      .map((one): [Key, string, EncryptedText | undefined] => [one, 'secretKey', one.data.secretKey]),
  ]
  const failed: string[] = []
  let opened = 0
  for (const [place, field, text] of found) {
    if (text === undefined) continue
    const works = await cipher.decrypt(place, field, text).then(
      () => true,
      () => false,
    )
    if (works) opened += 1
    else failed.push(`${field} of a ${place.kind}, of term ${termNumberOf(text) ?? 0}`)
  }
  if (opened > 0 && keyring.value !== record.term) failed.push(`whatever term ${record.term} encrypted`)
  return { opened, failed }
}

/**
 * Returns the id of the term that the primary encrypts with, if the id is known and this cluster does not hold the
 * term.
 */
async function findMissingTerm(
  { store }: Pick<FollowerPorts, 'store'>,
  primary: PrimaryFacts,
  lastTold = '',
): Promise<string | undefined> {
  const term = primary.state === 'answers' ? (primary.reported?.term ?? '') : lastTold
  if (term === '') return undefined
  const [keyring] = await store.read([key('keyring')])
  return keyring && heldTermsOf(keyring.data).ids.includes(term) ? undefined : term
}

/**
 * Number of times in a row that the primary must refuse. A single refusal may be due to a concurrent heartbeat of
 * the puller.
 */
const ASK_TRIES = 3
const PRIMARY_ASK_PAUSE_MS = 300

async function askPrimary(
  { ports, connect, deadline }: PromotionFactsRun,
  head: JournalHead,
  { silent, puller }: { silent: PrimaryFacts; puller: Pick<Item<'puller'>, 'data'> | undefined },
): Promise<PrimaryFacts> {
  const { clock } = ports
  const hasTime = () => clock.now() < deadline
  const follower = await createFollower(ports, connect, { hasTime, reported: puller?.data, until: deadline })
  if (!follower?.link) return { state: 'none' }
  let unsigned: { unsignedAnswer?: string } = {}
  const pause = () => clock.sleep(PRIMARY_ASK_PAUSE_MS)
  const answer = await retryOnConflict(
    { tries: ASK_TRIES, pause },
    async (tried): Promise<Result<PrimaryFacts, 'pending'>> => {
      const started = clock.now()
      try {
        return ok(await probePrimary(follower, head))
      } catch (error) {
        if (!(error instanceof LinkRefused || error instanceof LinkSilent)) throw error
        // a cluster that has followed another primary has new keys, so another cluster is the primary now
        const refuses = error instanceof LinkRefused || error instanceof LinkUnbelieved
        if (error instanceof LinkUnsigned) unsigned = { unsignedAnswer: error.message }
        const over = tried + 1 === ASK_TRIES || clock.now() + PRIMARY_ASK_PAUSE_MS >= deadline
        if (refuses && over) return ok({ state: 'refuses', text: error.message })
        if (over || !(refuses || error instanceof LinkUnsigned))
          // if only the second call failed, the primary has just answered the first one
          return ok({
            ...silent,
            ...unsigned,
            ...(follower.session.source ? { lastAnswerAt: started, silentMs: 0 } : {}),
          })
        return PENDING_RESULT
      }
    },
  )
  return answer.ok ? answer.value : silent
}

async function probePrimary(follower: Follower, head: JournalHead): Promise<PrimaryFacts> {
  const { format, lineage, frontier, time, seq, epoch, skewMs, term } = await sendHeartbeat(follower)
  // a term that cannot be fetched is a separate obstacle
  await fetchNeededTerms(follower, NO_TERMS_NEEDED).catch(() => undefined)
  const reported = { epoch, seq, frontier, skew: skewMs, term }
  const { forkPoint, diverged } = compareLineages({ lineage }, head)
  const divergedFacts: PrimaryFacts = { state: 'answers', format, lag: 'diverged', reported }
  if (diverged || forkPoint < head.last) return divergedFacts
  const oldest = await findOldestMissing(follower, head, frontier)
  if (oldest === 'diverged') return divergedFacts
  return { state: 'answers', format, lag: oldest === undefined ? 0 : Math.max(0, time - oldest), reported }
}

/**
 * Returns the time at which the primary wrote the first entry that this cluster has not applied; undefined if every
 * entry is applied.
 */
async function findOldestMissing(
  { own, link }: Follower,
  head: JournalHead,
  frontier: number,
): Promise<number | 'diverged' | undefined> {
  if (head.applied < head.last)
    return (await own.journal.entries(head.lineage, head.applied, head.applied + 1))[0]?.at
  if (frontier <= head.last) return undefined
  const page = await link?.entries({ lineage: head.lineage, after: head.last, maxBytes: 1 })
  return page?.kind === 'entries' ? page.entries[0]?.at : 'diverged'
}
