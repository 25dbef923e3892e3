import type { AnnouncedTakeOver } from '../../set/take-over.ts'
import { announceFor, checkPromotionButton, type ShownReadiness, toShownReadiness } from '../allowed.ts'
import { operationSteps } from '../progress.ts'
import { askApi, faultText, ownApiUrl } from './ask.ts'
import { createElement, createTable, elementById, inputById, replaceContent, showText } from './dom.ts'
import { omittedFieldsNote } from './looks.ts'
import { observeOwnCluster, pageModel } from './model.ts'

const DR = 'sys/replication/dr'

/** Requests the readiness: on a secondary with the operation token if the page has one, else with the token. */
async function askReadiness(): Promise<void> {
  const { operationToken, token } = pageModel
  const bySecondary = pageModel.own.answer?.status.mode === 'secondary' && operationToken !== ''
  showText('readiness-said', 'Requesting …')
  try {
    const answer = bySecondary
      ? await askApi(ownApiUrl, `${DR}/secondary/readiness`, { body: { dr_operation_token: operationToken } })
      : await askApi(ownApiUrl, `${DR}/readiness`, { token: token || operationToken })
    pageModel.readiness = answer.isOk ? toShownReadiness(answer.data, Date.now()) : undefined
    pageModel.lagHistory = pageModel.readiness?.fields.lag?.history ?? pageModel.lagHistory
    showText('readiness-said', answer.refused, answer.isOk ? '' : 'bad')
  } catch (error) {
    pageModel.readiness = undefined
    showText('readiness-said', `No answer: ${faultText(error)}`, 'bad')
  }
  showRoleSwitch(Date.now())
}

/** Returns the filled form and the observed clusters, as the checks of the button need them. */
const promotionInput = (now: number) => ({
  own: pageModel.own,
  peer: pageModel.peer?.seen,
  readiness: pageModel.readiness,
  hasOperationToken: pageModel.operationToken !== '',
  typed: inputById('confirm').value,
  force: inputById('force').checked,
  acceptsLoss: inputById('accept-loss').checked,
  now,
})

/** Shows the readiness, and enables or disables the promotion button. */
export function showRoleSwitch(now: number): void {
  const input = promotionInput(now)
  const { readiness, force } = input
  const announced = announceFor(input)
  const planned = announceFor({ ...input, force: false })
  replaceContent(elementById('readiness-shown'), [readiness, planned?.isLossy], () =>
    readiness ? readinessShown(readiness, planned?.isLossy ?? false) : [],
  )
  showSteps(readiness)
  showLoss(announced)
  const { allowed, why } = checkPromotionButton(input)
  const button = elementById('promote', HTMLButtonElement)
  button.disabled = !allowed || pageModel.isPromotionOrdered
  button.textContent = announced?.isLossy ? 'Take over with loss' : 'Take over'
  const ready = announced?.isLossy
    ? `Ready to take over${force ? ' by force' : ''}. The writes above may be lost.`
    : 'Ready for a planned switch. No write is lost, and for some seconds no cluster serves.'
  const text = pageModel.isPromotionOrdered ? 'The promotion is running.' : why || ready
  showText('promote-why', text, allowed && announced?.isLossy ? 'bad' : '')
}

/** Shows the steps of a take-over at its button, until the readiness names the steps. */
function showSteps(readiness: ShownReadiness | undefined): void {
  const { mode, operation } = pageModel.own.answer?.status ?? {}
  const isShown = mode === 'secondary' && !readiness?.fields.promotion?.steps.length
  const step = operation?.name === 'promotion' ? operation.step : ''
  replaceContent(elementById('switch-steps'), [isShown, step], () =>
    isShown
      ? [
          createElement('h3', {}, 'Steps of a take-over'),
          createElement(
            'ol',
            {},
            ...Object.entries(operationSteps['promotion'] ?? {}).map(([name, does]) =>
              createElement('li', name === step ? { class: 'now' } : {}, `${name}: ${does}`),
            ),
          ),
        ]
      : [],
  )
}

/** Shows what a lossy take-over leaves out and may lose, with a confirmation of its own. */
function showLoss(announced: AnnouncedTakeOver | undefined): void {
  const isLossy = announced?.isLossy ?? false
  elementById('loss').hidden = !isLossy
  // an earlier acceptance does not count for another loss
  if (announced && !isLossy) inputById('accept-loss').checked = false
  replaceContent(elementById('loss-shown'), announced, () => [
    createElement('p', {}, createElement('strong', {}, announced?.loss)),
    createElement('p', {}, 'Left out:'),
    createElement('ul', {}, ...(announced?.leftOut ?? []).map(text => createElement('li', {}, text))),
  ])
}

function readinessShown({ fields, odd }: ShownReadiness, isLossy: boolean): HTMLElement[] {
  const { checks = [], ready = false, mode, promotion, promotion_with_force: forced } = fields
  const plan = promotion?.goes_through ? promotion : forced
  const { steps = [], warnings = [] } = mode === 'secondary' && plan?.goes_through ? plan : {}
  const title = plan === promotion ? 'Steps of a promotion' : 'Steps of a promotion by force'
  const done = steps.map(({ step, does }) => createElement('li', {}, `${step}: ${does}`))
  const verdict = !ready
    ? 'The cluster would refuse a planned switch now.'
    : mode === 'primary'
      ? 'A secondary could take over now. Promote it on its own page.'
      : isLossy
        ? 'No planned switch is possible, because the primary does not hand over. A take-over may lose writes.'
        : 'A planned switch would succeed now.'
  return [
    createElement('p', { class: ready && !isLossy ? 'good' : 'bad' }, verdict),
    createTable(
      ['check', 'verdict', 'reason'],
      checks.map(({ name, passes, text, overridden_by_force }) => [
        name,
        createElement(
          'span',
          { class: passes && !(isLossy && name === 'silent') ? 'good' : 'bad' },
          isLossy && passes && name === 'silent'
            ? 'no handover'
            : passes
              ? 'passes'
              : overridden_by_force
                ? 'fails, except by force'
                : 'fails',
        ),
        text,
      ]),
    ),
    ...(steps.length > 0 ? [createElement('h3', {}, title), createElement('ol', {}, ...done)] : []),
    ...warnings.map(text => createElement('p', { class: 'busy' }, text)),
    ...omittedFieldsNote(odd),
  ]
}

const pause = (seconds: number) => new Promise(resolve => setTimeout(resolve, seconds * 1000))

/**
 * Longest time in milliseconds for which a promotion is requested again. The cluster waits at most five minutes for
 * the rest of the journal.
 */
const INSIST_MS = 360_000

/**
 * Shows the warnings of a promotion: after a forced promotion, which commits are missing and which steps must be
 * repeated.
 */
const showWarnings = (warnings: readonly string[]): void =>
  replaceContent(elementById('promote-warnings'), warnings, () => [
    createElement('ul', { class: 'busy' }, ...warnings.map(text => createElement('li', {}, text))),
  ])

/** Records a promotion that ended between two observations, so that its steps are shown as done. */
function noteTaken(): void {
  const { own, peer } = pageModel.lastOperations
  const over = { id: '', name: 'promotion', step: 'serve', since: '', waits_until: '', error: '' }
  pageModel.lastOperations = { own: own?.name === 'promotion' ? own : over, peer }
}

/** Requests the promotion. While the promotion runs, a repeated request joins it. */
async function promote(force: boolean): Promise<void> {
  const body = { dr_operation_token: pageModel.operationToken, ...(force ? { force } : {}) }
  const end = Date.now() + INSIST_MS
  for (;;) {
    const answer = await askApi(ownApiUrl, `${DR}/secondary/promote`, { body })
    if (answer.isOk) {
      noteTaken()
      showWarnings(answer.warnings)
      return showText('promote-said', 'This cluster has taken over.', 'good')
    }
    await observeOwnCluster()
    const own = pageModel.own.answer
    const { mode, operation } = own?.status ?? {}
    const goesOn = operation?.name === 'promotion' || (mode === 'primary' && own?.health !== 200)
    if (answer.retryAfter === undefined || !goesOn || Date.now() > end)
      return showText('promote-said', `Refused: ${answer.refused}`, 'bad')
    showText('promote-said', 'The promotion is running; it takes longer than one request may.', 'busy')
    await pause(Math.min(answer.retryAfter, 5))
  }
}

/**
 * Requests the readiness again before a planned switch, because the primary may have fallen silent since: then the
 * switch has become lossy. A loss that was accepted needs no second check.
 */
async function isStillAllowed(): Promise<boolean> {
  if (announceFor(promotionInput(Date.now()))?.isLossy) return true
  await askReadiness()
  return checkPromotionButton(promotionInput(Date.now())).allowed
}

async function onPromote(event: Event): Promise<void> {
  event.preventDefault()
  if (elementById('promote', HTMLButtonElement).disabled) return
  const force = inputById('force').checked
  pageModel.isPromotionOrdered = true
  showText('promote-said', 'The promotion was requested.', 'busy')
  showWarnings([])
  showRoleSwitch(Date.now())
  if (!(await isStillAllowed())) {
    pageModel.isPromotionOrdered = false
    showText('promote-said', 'The readiness has changed. Nothing was done.', 'bad')
    return showRoleSwitch(Date.now())
  }
  try {
    await promote(force)
  } catch (error) {
    showText('promote-said', `No answer (${faultText(error)}). The operation list shows the outcome.`, 'bad')
  }
  await observeOwnCluster()
  pageModel.isPromotionOrdered = false
  pageModel.readiness = undefined
  inputById('confirm').value = ''
  for (const id of ['force', 'accept-loss']) inputById(id).checked = false
  showRoleSwitch(Date.now())
}

/** Adds the handlers of the promotion form. */
export function bindSwitchButtons(): void {
  elementById('readiness-ask').addEventListener('click', () => {
    inputById('accept-loss').checked = false
    void askReadiness()
  })
  elementById('promote-form').addEventListener('submit', event => void onPromote(event))
  for (const id of ['confirm', 'force', 'accept-loss'])
    inputById(id).addEventListener('input', () => showRoleSwitch(Date.now()))
}
