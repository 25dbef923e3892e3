import { classifyCluster } from '../../set/condition.ts'
import { judgePair } from '../../set/pair.ts'
import type {
  ClusterAnswer,
  ClusterStatus,
  KnownCluster,
  ObservedCluster,
  RunningOperation,
} from '../../set/status.ts'
import { printSpan } from '../../values/words.ts'
import { type Box, chooseScaleTop, computeLags, describeLags, plotLines } from '../lag.ts'
import { linkedPageUrl } from '../links.ts'
import { listProgress, listSteps } from '../progress.ts'
import { ageElement, byId, el, facts, replaceContent, showText, svg, table } from './dom.ts'
import { model, observedClusters } from './model.ts'

/** Shows both clusters, and the verdict on the pair. */
export function showClusters(now: number): void {
  const { own, peer } = model
  const verdict = judgePair(own, peer?.seen)
  showText('verdict', verdict.sentence, verdict.severity)
  const name = own.answer?.cluster ?? ''
  showText('own-name', name)
  document.title = name === '' ? 'cloud-auth' : `${name} · cloud-auth`
  showCluster('own', 'This cluster', own)
  if (peer) showCluster('peer', `The other cluster, ${peer.origin}`, peer.seen)
  byId('peer').hidden = !peer
  showLag(now)
  showWork()
  showOthers()
}

function showCluster(id: 'own' | 'peer', title: string, seen: ObservedCluster): void {
  const condition = classifyCluster(seen)
  const { answer } = seen
  const target = byId(id)
  target.className = condition.severity
  target.dataset['state'] = condition.state
  replaceContent(target, [title, condition, answer], () => [
    el('h3', {}, answer?.cluster || title),
    el('p', { class: 'dim' }, title),
    el('p', { class: condition.severity }, el('strong', {}, condition.title)),
    el('p', {}, condition.sentence),
    answer ? el('p', { class: 'dim' }, 'Answered ', ageElement(answer.at), '.') : undefined,
    answer ? factsOf(answer) : undefined,
  ])
}

const factsOf = ({ health, version, status }: ClusterAnswer): HTMLElement =>
  facts([
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
  if (!readiness) return mode === 'secondary' ? 'not tried since its role or its contact changed' : ''
  const verdict = readiness.ready ? 'yes' : `no: ${readiness.refused_by.join(', ')}`
  return `${verdict}, checked ${printSpan(Math.max(0, Date.now() - (readiness.at ?? 0)))} ago`
}

const BOX: Box = { width: 600, height: 140 }

function showLag(now: number): void {
  const lags = computeLags(observedClusters(), now)
  showText('lag-words', describeLags(lags), lags.lost ? 'busy' : '')
  const { samples } = model
  const top = chooseScaleTop(samples)
  const lines = (['stored', 'lost'] as const).map(which => ({
    which,
    of: plotLines(samples, which, BOX, now),
  }))
  replaceContent(byId('lag-drawn'), [top, lines], () => [
    el(
      'p',
      {},
      el('span', { class: 'key stored' }, 'age of the newest stored entry'),
      el('span', { class: 'key lost' }, 'possible loss if promoted now'),
    ),
    svg(
      'svg',
      {
        viewBox: `-64 -14 ${BOX.width + 76} ${BOX.height + 44}`,
        role: 'img',
        'aria-label': `Both lags of the last ten minutes, up to ${printSpan(top)}`,
      },
      ...[0, 0.5, 1].flatMap(part => [
        svg('line', { class: 'axis', x1: 0, x2: BOX.width, y1: BOX.height * part, y2: BOX.height * part }),
        svg(
          'text',
          { x: -6, y: BOX.height * part + 4, 'text-anchor': 'end' },
          `${(top * (1 - part)) / 1000} s`,
        ),
      ]),
      svg('text', { x: 0, y: BOX.height + 24 }, '10 min ago'),
      svg('text', { x: BOX.width, y: BOX.height + 24, 'text-anchor': 'end' }, 'now'),
      ...lines.flatMap(({ which, of }) => of.map(points => svg('polyline', { class: which, points }))),
    ),
  ])
}

function showWork(): void {
  const both = [
    { name: 'own', seen: model.own },
    { name: 'peer', seen: model.peer?.seen },
  ] as const
  const parts = both.flatMap(({ name, seen }) => {
    const answer = seen?.answer
    return answer
      ? [
          {
            cluster: answer.cluster,
            status: answer.status,
            progress: listProgress(answer.status),
            operation: answer.status.operation ?? model.lastOperations[name],
          },
        ]
      : []
  })
  replaceContent(
    byId('work-shown'),
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
          el(
            'p',
            {},
            `${what} on ${cluster}: ${text} `,
            part === undefined
              ? undefined
              : el('progress', { max: 1, value: part, 'aria-label': `${what} on ${cluster}` }),
          ),
        ),
        ...(operation ? [operationShown(cluster, status, operation)] : []),
      ])
      return shown.length > 0 ? shown : [el('p', {}, 'No operation, sync or reindex is running.')]
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
  return el(
    'div',
    { 'data-operation': operation.name, 'data-over': !isRunning },
    el('h3', {}, `${operation.name} on ${cluster} ${isRunning ? 'is running' : ending}`),
    el(
      'ol',
      {},
      ...steps.map(({ name, does, state }) =>
        el(
          'li',
          { class: state.replace(' ', '-'), 'aria-current': state === 'now' ? 'step' : undefined },
          does === '' ? name : `${name}: ${does}`,
          state === 'done' ? ' ✓' : undefined,
        ),
      ),
    ),
    isRunning && operation.error !== '' ? el('p', { class: 'busy' }, operation.error) : undefined,
  )
}

function showOthers(): void {
  const status = model.own.answer?.status
  const others = status
    ? [...status.secondaries, ...(status.primary ? [{ ...status.primary, name: 'its primary' }] : [])]
    : []
  // heartbeat ages change constantly, so they are excluded here and refreshed by `refreshAges`
  replaceContent(
    byId('secondaries-shown'),
    others.map(({ canaryAge_ms: _age, ...one }) => one),
    () =>
      others.length === 0
        ? [el('p', {}, 'This cluster knows no other cluster.')]
        : [table(['cluster', 'link', 'last heartbeat', 'clock offset', 'its page'], others.map(otherRow))],
  )
}

function otherRow(peer: KnownCluster): (HTMLElement | string)[] {
  const page = linkedPageUrl(peer.apiAddress, model.peer?.origin ?? '')
  return [
    peer.name,
    el(
      'span',
      { class: peer.isConnected ? 'good' : 'bad' },
      peer.isExpired ? 'its token expired unused' : peer.isConnected ? 'connected' : 'disconnected',
    ),
    peer.lastHeartbeatAt === undefined ? 'never' : ageElement(peer.lastHeartbeatAt),
    peer.lastHeartbeatAt === undefined ? '' : `${peer.skew_ms} ms`,
    page === undefined ? peer.apiAddress : el('a', { href: page, rel: 'noreferrer' }, page),
  ]
}
