import type { ClusterCondition } from '../../set/condition.ts'
import { judgeSet } from '../../set/overview.ts'
import type {
  ClusterAnswer,
  ClusterStatus,
  KnownCluster,
  ObservedCluster,
  RunningOperation,
} from '../../set/status.ts'
import { formatTimeSpan } from '../../values/words.ts'
import {
  type ChartSize,
  chooseLagScaleTop,
  computeReplicationLags,
  describeReplicationLags,
  plotLagLines,
} from '../lag.ts'
import { linkedPageUrl } from '../links.ts'
import { listProgressBars, listSteps } from '../progress.ts'
import {
  ageElement,
  createElement,
  createSvgElement,
  createTable,
  createTermList,
  elementById,
  replaceContent,
  showText,
} from './dom.ts'
import { observedClusters, pageModel } from './model.ts'

/** Shows both clusters, and the verdict on the pair. */
export function showClusters(now: number): void {
  const { own, peer } = pageModel
  const { verdict, cards, task } = judgeSet(observedClusters())
  showText('verdict-sentence', verdict.sentence)
  showText('task', task)
  elementById('verdict').className = verdict.severity
  const name = own.answer?.cluster ?? ''
  showText('own-name', name)
  document.title = name === '' ? 'cloud-auth' : `${name} · cloud-auth`
  const [ownCard, peerCard] = cards
  if (ownCard) showCluster('own', 'This cluster', own, ownCard)
  if (peer && peerCard) showCluster('peer', `The other cluster, ${peer.origin}`, peer.seen, peerCard)
  elementById('peer').hidden = !peer
  showLag(now)
  showWork()
  showOthers()
}

function showCluster(
  id: 'own' | 'peer',
  title: string,
  { answer }: ObservedCluster,
  condition: ClusterCondition,
): void {
  const target = elementById(id)
  target.className = condition.severity
  target.dataset['state'] = condition.state
  replaceContent(target, [title, condition, answer], () => [
    createElement('h3', {}, answer?.cluster || title),
    createElement('p', { class: 'dim' }, title),
    createElement('p', { class: condition.severity }, createElement('strong', {}, condition.title)),
    createElement('p', {}, condition.sentence),
    answer ? createElement('p', { class: 'dim' }, 'Answered ', ageElement(answer.at), '.') : undefined,
    answer ? factsOf(answer) : undefined,
  ])
}

const factsOf = ({ health, version, status }: ClusterAnswer): HTMLElement =>
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
  return `${verdict}, checked ${formatTimeSpan(Math.max(0, Date.now() - (readiness.at ?? 0)))} ago`
}

const BOX: ChartSize = { width: 600, height: 140 }

function showLag(now: number): void {
  const lags = computeReplicationLags(observedClusters(), now)
  showText('lag-words', describeReplicationLags(lags), lags.lost ? 'busy' : '')
  const { samples } = pageModel
  const top = chooseLagScaleTop(samples)
  const lines = (['stored', 'lost'] as const).map(which => ({
    which,
    of: plotLagLines(samples, which, BOX, now),
  }))
  replaceContent(elementById('lag-drawn'), [top, lines], () => [
    createElement(
      'p',
      {},
      createElement('span', { class: 'key stored' }, 'age of the newest stored entry'),
      createElement('span', { class: 'key lost' }, 'possible loss if promoted now'),
    ),
    createSvgElement(
      'svg',
      {
        viewBox: `-64 -14 ${BOX.width + 76} ${BOX.height + 44}`,
        role: 'img',
        'aria-label': `Both lags of the last ten minutes, up to ${formatTimeSpan(top)}`,
      },
      ...[0, 0.5, 1].flatMap(part => [
        createSvgElement('line', {
          class: 'axis',
          x1: 0,
          x2: BOX.width,
          y1: BOX.height * part,
          y2: BOX.height * part,
        }),
        createSvgElement(
          'text',
          { x: -6, y: BOX.height * part + 4, 'text-anchor': 'end' },
          `${(top * (1 - part)) / 1000} s`,
        ),
      ]),
      createSvgElement('text', { x: 0, y: BOX.height + 24 }, '10 min ago'),
      createSvgElement('text', { x: BOX.width, y: BOX.height + 24, 'text-anchor': 'end' }, 'now'),
      ...lines.flatMap(({ which, of }) =>
        of.map(points => createSvgElement('polyline', { class: which, points })),
      ),
    ),
  ])
}

function showWork(): void {
  const both = [
    { name: 'own', seen: pageModel.own },
    { name: 'peer', seen: pageModel.peer?.seen },
  ] as const
  const parts = both.flatMap(({ name, seen }) => {
    const answer = seen?.answer
    return answer
      ? [
          {
            cluster: answer.cluster,
            status: answer.status,
            progress: listProgressBars(answer.status),
            operation: answer.status.operation ?? pageModel.lastOperations[name],
          },
        ]
      : []
  })
  replaceContent(
    elementById('work-shown'),
    parts.map(({ cluster, status, progress, operation }) => [
      cluster,
      progress,
      operation,
      status.operation?.id,
      status.lastError,
    ]),
    () => {
      const shown = parts.flatMap(({ cluster, status, progress, operation }) => [
        ...progress.map(({ what, text, part }) =>
          createElement(
            'p',
            {},
            `${what} on ${cluster}: ${text} `,
            part === undefined
              ? undefined
              : createElement('progress', { max: 1, value: part, 'aria-label': `${what} on ${cluster}` }),
          ),
        ),
        ...(operation ? [operationShown(cluster, status, operation)] : []),
      ])
      return shown.length > 0 ? shown : [createElement('p', {}, 'No operation, sync or reindex is running.')]
    },
  )
}

/** Shows the steps of a running operation, or how an observed operation ended. */
function operationShown(
  cluster: string,
  { operation: running, lastError }: ClusterStatus,
  operation: RunningOperation,
): HTMLElement {
  const isRunning = running?.id === operation.id
  const failed = !isRunning && lastError?.operation?.name === operation.name ? lastError.text : ''
  const ending = failed === '' ? 'has ended' : `failed: ${failed}`
  const steps = listSteps(operation).map(step =>
    isRunning || failed !== '' ? step : { ...step, state: 'done' as const },
  )
  return createElement(
    'div',
    { 'data-operation': operation.name, 'data-over': !isRunning },
    createElement('h3', {}, `${operation.name} on ${cluster} ${isRunning ? 'is running' : ending}`),
    createElement(
      'ol',
      {},
      ...steps.map(({ name, does, state }) =>
        createElement(
          'li',
          { class: state.replace(' ', '-'), 'aria-current': state === 'now' ? 'step' : undefined },
          does === '' ? name : `${name}: ${does}`,
          state === 'done' ? ' ✓' : undefined,
        ),
      ),
    ),
    isRunning && operation.error !== '' ? createElement('p', { class: 'busy' }, operation.error) : undefined,
  )
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
