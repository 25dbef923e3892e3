import type { ClusterCondition } from '../../set/condition.ts'
import { judgeSet, type SetOverview } from '../../set/overview.ts'
import type { PairSituation, PairVerdict } from '../../set/pair.ts'
import type { ClusterAnswer, ClusterStatus, KnownCluster, ObservedCluster } from '../../set/status.ts'
import { quoteName } from '../../values/words.ts'
import { listDuties, listReadmission } from '../commands.ts'
import { describeBeginning, describeLagBriefly, regionOfCluster } from '../facts.ts'
import { computeReplicationLags } from '../lag.ts'
import { apiBaseUrl, linkedPageUrl } from '../links.ts'
import { ownApiUrl } from './ask.ts'
import {
  ageElement,
  createCommand,
  createElement,
  createTable,
  createTermList,
  elementById,
  replaceContent,
  showText,
} from './dom.ts'
import { showLag } from './lag-chart.ts'
import { noteState, observedClusters, pageModel } from './model.ts'
import { showWork } from './work.ts'

/** Shows both clusters, the verdict, and the next task. */
export function showClusters(now: number): void {
  const { own, peer } = pageModel
  const { verdict, cards, task } = calmBriefly(judgeSet(observedClusters()), now)
  showText('verdict-sentence', verdict.sentence)
  showText('task', `Next: ${task}`)
  elementById('verdict').className = verdict.severity
  elementById('task-link').hidden =
    own.answer?.status.mode !== 'secondary' || !LEADING_TO_SWITCH.includes(verdict.situation)
  const name = own.answer?.cluster ?? ''
  showText('own-name', quoteName(name))
  document.title = name === '' ? 'cloud-auth' : `${quoteName(name)} · cloud-auth`
  const [ownCard, peerCard] = cards
  const lags = computeReplicationLags(observedClusters(), now)
  const factsOf = ({ answer }: ObservedCluster): string =>
    answer ? describeLagBriefly(answer.status, lags) : ''
  if (ownCard)
    showCard('own', own, ownCard, {
      verdict,
      lag: factsOf(own),
      address: location.origin,
      region: pageModel.readiness?.fields.region?.own ?? '',
    })
  if (peer && peerCard)
    showCard('peer', peer.seen, peerCard, {
      verdict,
      lag: factsOf(peer.seen),
      address: peer.origin,
      region: '',
    })
  elementById('peer').hidden = !peer
  showSections()
  showDuties(verdict)
  showLag(now)
  showWork()
  showOthers()
}

/** Milliseconds for which a set without a primary may be between two answers of a switch. */
const BETWEEN_ANSWERS_MS = 5000

/**
 * Shows a set without a primary as busy at first. The page reads both clusters at different times, so in a healthy
 * switch one answer is older than the handover.
 */
function calmBriefly(overview: SetOverview, now: number): SetOverview {
  const { verdict, cards } = overview
  const isBrief =
    now - noteState('pair', verdict.situation) < BETWEEN_ANSWERS_MS && verdict.situation === 'handed-over'
  if (!isBrief) return overview
  const calm = <T extends { sentence: string }>(one: T): T =>
    one.sentence === verdict.sentence ? { ...one, severity: 'busy' } : one
  return { ...overview, verdict: calm(verdict), cards: cards.map(calm) }
}

/** Situations in which this cluster may have to take over. */
const LEADING_TO_SWITCH: readonly PairSituation[] = ['primary-silent', 'handed-over', 'no-primary', 'closed']

/** Hides sections that need a DR set, if the cluster is in none and the page knows no other cluster. */
function showSections(): void {
  const isSingle = !pageModel.peer && pageModel.own.answer?.status.mode === 'disabled'
  for (const one of document.querySelectorAll<HTMLElement>('[data-needs="set"]')) one.hidden = isSingle
}

interface CardFacts {
  verdict: PairVerdict
  lag: string
  address: string
  region: string
}

const PLACES = { own: 'this page’s cluster', peer: 'the other cluster' }

function showCard(
  id: 'own' | 'peer',
  seen: ObservedCluster,
  condition: ClusterCondition,
  { verdict, lag, address, region }: CardFacts,
): void {
  const { name, answer } = seen
  const { severity, state, title, sentence } = condition
  const target = elementById(id)
  target.className = severity
  target.dataset['state'] = state
  replaceContent(elementById(`${id}-head`), [name, title, severity, answer === undefined], () => [
    createElement('h3', {}, name, ' ', answer && createElement('span', { class: 'dim' }, PLACES[id])),
    createElement('p', { class: severity }, createElement('strong', {}, title)),
  ])
  // the headline and the list of steps are not repeated
  const isSaid = verdict.sentence.includes(sentence) || (state === 'changing' && verdict.severity === 'busy')
  showText(`${id}-sentence`, isSaid ? '' : sentence)
  const { label, since } = describeBeginning(state, seen) ?? {
    label: 'seen here since',
    since: noteState(id, state),
  }
  const where = region || regionOfCluster(answer?.status, [address, ownAddress(answer?.status)])
  replaceContent(elementById(`${id}-facts`), [label, since, lag, where, address], () => [
    createTermList([
      [label, ageElement(since)],
      ['lag', lag],
      ['region', where || 'unknown'],
      ['clients’ address', address],
    ]),
  ])
  elementById(`${id}-details`).hidden = !answer
  replaceContent(elementById(`${id}-raw`), answer && { ...answer, at: 0 }, () =>
    answer
      ? [createElement('p', { class: 'dim' }, 'Answered ', ageElement(answer.at), '.'), rawFacts(answer)]
      : [],
  )
  const age = elementById(`${id}-raw`).querySelector('[data-at]')
  if (answer && age) age.setAttribute('data-at', String(answer.at))
}

const ownAddress = (status: ClusterStatus | undefined): string =>
  status?.mode === 'primary' ? status.address : ''

const rawFacts = ({ health, version, status }: ClusterAnswer): HTMLElement =>
  createTermList([
    ['mode', status.mode],
    ['state', status.state],
    ['link to its primary', status.connection],
    ['health', String(health)],
    ['position', String(status.position ?? '')],
    ['root of its tree', status.root.slice(0, 12)],
    ['set', status.set],
    ['version', version],
    ['ready to take over', readinessText(status)],
    ['differing items', status.diverging.join(', ')],
    ['last error', status.lastError ? `${status.lastError.text} (${status.lastError.time})` : ''],
    ['fields omitted (other version)', status.odd.join(', ')],
    ...status.faults.map(
      ({ part, text, last, ended }) =>
        [
          `recent fault: ${part}`,
          `${text}; last ${last}${ended === '' ? '' : `, working again since ${ended}`}`,
        ] as const,
    ),
    ...status.fences.map(
      one => [`fence of ${one.cluster_address}`, [one.result, one.text].filter(Boolean).join(': ')] as const,
    ),
  ])

const readinessText = ({ readiness, mode }: ClusterStatus): string => {
  if (!readiness)
    return mode === 'secondary' ? 'not checked since its role or its link to the primary changed' : ''
  const verdict = readiness.ready ? 'yes' : `no: ${readiness.refused_by.join(', ')}`
  return `${verdict}, checked at ${readiness.tried}`
}

/** Shows the remaining duties while one cluster serves, the other does not follow it, and no operation runs. */
function showDuties({ situation, severity, primary }: PairVerdict): void {
  const { own, peer } = pageModel
  const isOwn = primary ? primary === own : own.answer?.status.mode === 'primary'
  const isRevoked = situation === 'revoked'
  const isDue = isRevoked || situation === 'unfollowed' || (situation === 'peer-silent' && isOwn)
  const isShown = peer !== undefined && isDue && severity === 'bad'
  elementById('duties').hidden = !isShown
  elementById('duties-link').hidden = !isShown
  if (!isShown) return
  const [mine, theirs] = [ownApiUrl, apiBaseUrl(peer.origin)]
  const follower = isOwn ? peer.seen : own
  const name = follower.answer?.status.memberName || follower.answer?.cluster || 'name-of-the-other-cluster'
  const places = { primary: isOwn ? mine : theirs, follower: isOwn ? theirs : mine, name }
  const duties = isRevoked ? listReadmission(places) : listDuties(places)
  replaceContent(elementById('duties-shown'), duties, () => [
    createElement('ol', {}, ...duties.map(createCommand)),
  ])
}

function showOthers(): void {
  const status = pageModel.own.answer?.status
  const others = status
    ? [...status.secondaries, ...(status.primary ? [{ ...status.primary, name: 'its primary' }] : [])]
    : []
  // heartbeat ages change constantly, so they are excluded here and refreshed by `refreshAges`
  replaceContent(
    elementById('secondaries-shown'),
    others.map(({ canaryAge_ms: _age, ...one }) => one),
    () =>
      others.length === 0
        ? [createElement('p', {}, 'This cluster knows no other cluster.')]
        : [
            createTable(
              ['cluster', 'link', 'last heartbeat', 'clock offset', 'its page'],
              others.map(otherRow),
            ),
          ],
  )
}

function otherRow(peer: KnownCluster): (HTMLElement | string)[] {
  const page = linkedPageUrl(peer.apiAddress, pageModel.peer?.origin ?? '')
  return [
    peer.name,
    createElement(
      'span',
      { class: peer.isConnected ? 'good' : 'bad' },
      peer.isExpired ? 'the token expired unused' : peer.isConnected ? 'connected' : 'disconnected',
    ),
    peer.lastHeartbeatAt === undefined ? 'never' : ageElement(peer.lastHeartbeatAt),
    peer.lastHeartbeatAt === undefined ? '' : `${peer.skew_ms} ms`,
    page === undefined ? peer.apiAddress : createElement('a', { href: page, rel: 'noreferrer' }, page),
  ]
}
