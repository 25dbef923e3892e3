import { checkPromotionButton, type ShownReadiness, toShownReadiness } from '../allowed.ts'
import { askApi, faultText, ownApi } from './ask.ts'
import { byId, el, input, replaceContent, showText, table } from './dom.ts'
import { omittedFieldsNote } from './looks.ts'
import { model, observeOwn } from './model.ts'

const DR = 'sys/replication/dr'

/** Requests the readiness: with the operation token on a secondary if there is one, else with the token. */
async function askReadiness(): Promise<void> {
  const { operationToken, token } = model
  const bySecondary = model.own.answer?.status.mode === 'secondary' && operationToken !== ''
  showText('readiness-said', 'Requesting …')
  try {
    const answer = bySecondary
      ? await askApi(ownApi, `${DR}/secondary/readiness`, { body: { dr_operation_token: operationToken } })
      : await askApi(ownApi, `${DR}/readiness`, { token: token || operationToken })
    if (answer.isOk) model.readiness = toShownReadiness(answer.data, Date.now())
    showText('readiness-said', answer.refused, answer.isOk ? '' : 'bad')
  } catch (error) {
    showText('readiness-said', `No answer: ${faultText(error)}`, 'bad')
  }
  showSwitch(Date.now())
}

/** Shows the readiness, and enables or disables the promotion button. */
export function showSwitch(now: number): void {
  const { own, peer, readiness, operationToken } = model
  replaceContent(byId('readiness-shown'), readiness, () => (readiness ? readinessShown(readiness) : []))
  const force = input('force').checked
  const { allowed, why } = checkPromotionButton({
    own,
    peer: peer?.seen,
    readiness,
    hasOperationToken: operationToken !== '',
    typed: input('confirm').value,
    force,
    now,
  })
  const button = byId('promote', HTMLButtonElement)
  button.disabled = !allowed || model.isPromotionOrdered
  showText(
    'promote-why',
    model.isPromotionOrdered
      ? 'The promotion is running.'
      : why ||
          (force
            ? 'Ready to promote by force. Commits that are not stored here will be lost.'
            : 'Ready to promote. For some seconds no cluster will serve.'),
    allowed && force ? 'bad' : '',
  )
}

function readinessShown({ fields, odd }: ShownReadiness): HTMLElement[] {
  const { checks = [], ready = false, mode, promotion, promotion_with_force: forced } = fields
  const plan = promotion?.goes_through ? promotion : forced
  const { steps = [], warnings = [] } = mode === 'secondary' && plan?.goes_through ? plan : {}
  const title = plan === promotion ? 'Steps of a promotion' : 'Steps of a promotion by force'
  const done = steps.map(({ step, does }) => el('li', {}, `${step}: ${does}`))
  const verdict = !ready
    ? 'The cluster would refuse a planned switch now.'
    : mode === 'primary'
      ? 'A secondary could take over now. Promote it on its own page.'
      : 'A planned switch would succeed now.'
  return [
    el('p', { class: ready ? 'good' : 'bad' }, verdict),
    table(
      ['check', 'verdict', 'reason'],
      checks.map(({ name, passes, text, overridden_by_force }) => [
        name,
        el(
          'span',
          { class: passes ? 'good' : 'bad' },
          passes ? 'passes' : overridden_by_force ? 'fails, except by force' : 'fails',
        ),
        text,
      ]),
    ),
    ...(steps.length > 0 ? [el('h3', {}, title), el('ol', {}, ...done)] : []),
    ...warnings.map(text => el('p', { class: 'busy' }, text)),
    ...omittedFieldsNote(odd),
  ]
}

const pause = (seconds: number) => new Promise(resolve => setTimeout(resolve, seconds * 1000))

/**
 * Longest time in milliseconds for which a promotion is requested again. The cluster waits at most five minutes for
 * the rest of the journal.
 */
const INSIST_MS = 360_000

/** Shows the warnings of a promotion: after a forced one, what is missing and what must be repeated. */
const showWarnings = (warnings: readonly string[]): void =>
  replaceContent(byId('promote-warnings'), warnings, () => [
    el('ul', { class: 'busy' }, ...warnings.map(text => el('li', {}, text))),
  ])

/** Records a promotion that ended between two observations, so that its steps are shown as done. */
function noteTaken(): void {
  const { own, peer } = model.lastOperations
  const over = { id: '', name: 'promotion', step: 'serve', since: '', waits_until: '', error: '' }
  model.lastOperations = { own: own?.name === 'promotion' ? own : over, peer }
}

/** Requests the promotion. While it runs, a repeated request joins it. */
async function promote(force: boolean): Promise<void> {
  const body = { dr_operation_token: model.operationToken, ...(force ? { force } : {}) }
  const end = Date.now() + INSIST_MS
  for (;;) {
    const answer = await askApi(ownApi, `${DR}/secondary/promote`, { body })
    if (answer.isOk) {
      noteTaken()
      showWarnings(answer.warnings)
      return showText('promote-said', 'This cluster has taken over.', 'good')
    }
    await observeOwn()
    const own = model.own.answer
    const { mode, operation } = own?.status ?? {}
    const goesOn = operation?.name === 'promotion' || (mode === 'primary' && own?.health !== 200)
    if (answer.retryAfter === undefined || !goesOn || Date.now() > end)
      return showText('promote-said', `Refused: ${answer.refused}`, 'bad')
    showText('promote-said', 'The promotion is running; it takes longer than one request may.', 'busy')
    await pause(Math.min(answer.retryAfter, 5))
  }
}

async function onPromote(event: Event): Promise<void> {
  event.preventDefault()
  if (byId('promote', HTMLButtonElement).disabled) return
  const force = input('force').checked
  model.isPromotionOrdered = true
  showSwitch(Date.now())
  showText('promote-said', 'The promotion was requested.', 'busy')
  showWarnings([])
  try {
    await promote(force)
  } catch (error) {
    showText('promote-said', `No answer (${faultText(error)}). The operation list shows the outcome.`, 'bad')
  }
  await observeOwn()
  model.isPromotionOrdered = false
  model.readiness = undefined
  input('confirm').value = ''
  input('force').checked = false
  showSwitch(Date.now())
}

/** Adds the handlers of the promotion form. */
export function bindSwitch(): void {
  byId('readiness-ask').addEventListener('click', () => void askReadiness())
  byId('promote-form').addEventListener('submit', event => void onPromote(event))
  for (const id of ['confirm', 'force']) input(id).addEventListener('input', () => showSwitch(Date.now()))
}
