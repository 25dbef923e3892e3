import { formatTimeSpan } from '../../values/words.ts'
import {
  type ChartSize,
  chooseLagScaleTop,
  computeReplicationLags,
  describeReplicationLags,
  plotLagLines,
  withLagHistory,
} from '../lag.ts'
import { createElement, createSvgElement, elementById, replaceContent, showText } from './dom.ts'
import { observedClusters, pageModel } from './model.ts'

const BOX: ChartSize = { width: 600, height: 140 }

/** Shows both lags in words and as a chart. */
export function showLag(now: number): void {
  const lags = computeReplicationLags(observedClusters(), now)
  showText('lag-words', describeReplicationLags(lags), lags.lost ? 'busy' : '')
  const history = pageModel.lagHistory
  const samples = withLagHistory(pageModel.samples, history, now)
  showText('lag-since', history.length === 0 ? 'since you opened this page' : 'of the last ten minutes')
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
