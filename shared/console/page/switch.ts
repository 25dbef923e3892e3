import { promotionAllowed, readinessOf, type ShownReadiness } from '../allowed.ts'
import { askApi, faultText, ownApi } from './ask.ts'
import { byId, el, input, say, show, table } from './dom.ts'
import { leftOut } from './looks.ts'
import { lookAtOwn, model } from './model.ts'

const DR = 'sys/replication/dr'

/** Asks for the readiness, by the operation token on a secondary if there is one, else by the token. */
async function askReadiness(): Promise<void> {
  const { operationToken, token } = model
  const bySecondary = model.own.answer?.status.mode === 'secondary' && operationToken !== ''
  say('readiness-said', 'It is being asked.')
  try {
    const answer = bySecondary
      ? await askApi(ownApi, `${DR}/secondary/readiness`, { body: { dr_operation_token: operationToken } })
      : await askApi(ownApi, `${DR}/readiness`, { token: token || operationToken })
    if (answer.isOk) model.readiness = readinessOf(answer.data, Date.now())
    say('readiness-said', answer.refused, answer.isOk ? '' : 'bad')
  } catch (error) {
    say('readiness-said', `It does not answer: ${faultText(error)}`, 'bad')
  }
  showSwitch(Date.now())
}

/** Shows readiness, and whether the button may be pressed. */
export function showSwitch(now: number): void {
  const { own, peer, readiness, operationToken } = model
  show(byId('readiness-shown'), readiness, () => (readiness ? readinessShown(readiness) : []))
  const force = input('force').checked
  const { allowed, why } = promotionAllowed({
    own,
    peer: peer?.seen,
    readiness,
    hasOperationToken: operationToken !== '',
    typed: input('confirm').value,
    force,
    now,
  })
  const button = byId('promote', HTMLButtonElement)
  button.disabled = !allowed || model.isOrdered
  say(
    'promote-why',
    model.isOrdered
      ? 'It is under way.'
      : why ||
          (force
            ? 'It may be pressed: what is not stored here is lost.'
            : 'It may be pressed: for some seconds nobody serves.'),
    allowed && force ? 'bad' : '',
  )
}

function readinessShown({ fields, odd }: ShownReadiness): HTMLElement[] {
  const { checks = [], ready = false, mode, promotion, promotion_with_force: forced } = fields
  const plan = promotion?.goes_through ? promotion : forced
  const { steps = [], warnings = [] } = mode === 'secondary' && plan?.goes_through ? plan : {}
  const title = plan === promotion ? 'It would do' : 'By force it would do'
  const done = steps.map(({ step, does }) => el('li', {}, `${step}: ${does}`))
  const verdict = !ready
    ? 'A planned switch would be refused now.'
    : mode === 'primary'
      ? 'A secondary could take over now: order it on its page.'
      : 'A planned switch would go through now.'
  return [
    el('p', { class: ready ? 'good' : 'bad' }, verdict),
    table(
      ['check', 'verdict', 'what is in the way'],
      checks.map(({ name, passes, text, overridden_by_force }) => [
        name,
        el(
          'span',
          { class: passes ? 'good' : 'bad' },
          passes ? 'passes' : overridden_by_force ? 'refuses, unless by force' : 'refuses',
        ),
        text,
      ]),
    ),
    ...(steps.length > 0 ? [el('h3', {}, title), el('ol', {}, ...done)] : []),
    ...warnings.map(text => el('p', { class: 'busy' }, text)),
    ...leftOut(odd),
  ]
}

const pause = (seconds: number) => new Promise(resolve => setTimeout(resolve, seconds * 1000))

/** Longest that a promotion is asked for again, milliseconds: it waits for the rest of a journal for five minutes at most. */
const INSIST_MS = 360_000

/** What whoever has taken over has to know: of one by force, what is missing and what is to be repeated. */
const showWarnings = (warnings: readonly string[]): void =>
  show(byId('promote-warnings'), warnings, () => [
    el('ul', { class: 'busy' }, ...warnings.map(text => el('li', {}, text))),
  ])

/** A promotion that was over between two looks has taken all its steps too. */
function noteTaken(): void {
  const { own, peer } = model.lastOperations
  const over = { id: '', name: 'promotion', step: 'serve', since: '', waits_until: '', error: '' }
  model.lastOperations = { own: own?.name === 'promotion' ? own : over, peer }
}

/** Orders the promotion; as long as it runs the same request joins it. */
async function promote(force: boolean): Promise<void> {
  const body = { dr_operation_token: model.operationToken, ...(force ? { force } : {}) }
  const end = Date.now() + INSIST_MS
  for (;;) {
    const answer = await askApi(ownApi, `${DR}/secondary/promote`, { body })
    if (answer.isOk) {
      noteTaken()
      showWarnings(answer.warnings)
      return say('promote-said', 'It has taken over.', 'good')
    }
    await lookAtOwn()
    const own = model.own.answer
    const { mode, operation } = own?.status ?? {}
    const goesOn = operation?.name === 'promotion' || (mode === 'primary' && own?.health !== 200)
    if (answer.retryAfter === undefined || !goesOn || Date.now() > end)
      return say('promote-said', `It was refused: ${answer.refused}`, 'bad')
    say('promote-said', 'It is under way, and takes longer than a request may.', 'busy')
    await pause(Math.min(answer.retryAfter, 5))
  }
}

async function onPromote(event: Event): Promise<void> {
  event.preventDefault()
  if (byId('promote', HTMLButtonElement).disabled) return
  const force = input('force').checked
  model.isOrdered = true
  showSwitch(Date.now())
  say('promote-said', 'It has been ordered.', 'busy')
  showWarnings([])
  try {
    await promote(force)
  } catch (error) {
    say('promote-said', `No answer came (${faultText(error)}): what goes on shows what became of it.`, 'bad')
  }
  await lookAtOwn()
  model.isOrdered = false
  model.readiness = undefined
  input('confirm').value = ''
  input('force').checked = false
  showSwitch(Date.now())
}

/** Has the page listen to who takes over. */
export function bindSwitch(): void {
  byId('readiness-ask').addEventListener('click', () => void askReadiness())
  byId('promote-form').addEventListener('submit', event => void onPromote(event))
  for (const id of ['confirm', 'force']) input(id).addEventListener('input', () => showSwitch(Date.now()))
}
