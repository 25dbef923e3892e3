import type { ClusterStatus, RunningOperation } from '../../set/status.ts'
import { listProgressBars, listSteps } from '../progress.ts'
import { createElement, elementById, replaceContent } from './dom.ts'
import { pageModel } from './model.ts'

/** Shows running and observed operations with their steps, and other long work. */
export function showWork(): void {
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
      elementById('work').hidden = shown.length === 0
      return shown
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
      { class: 'steps' },
      ...steps.map(({ name, does, state }) =>
        createElement(
          'li',
          { class: state.replace(' ', '-'), 'aria-current': state === 'now' ? 'step' : undefined },
          name,
          does === '' ? undefined : createElement('span', { class: 'does' }, `: ${does}`),
          state === 'done' ? ' ✓' : undefined,
        ),
      ),
    ),
    isRunning && operation.error !== '' ? createElement('p', { class: 'busy' }, operation.error) : undefined,
  )
}
