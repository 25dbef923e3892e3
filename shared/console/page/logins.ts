import { findEntryCommands } from '../commands.ts'
import { type LoginExplanation, parseLoginJson, readLoginExplanation } from '../explained.ts'
import { fillPath } from '../forms.ts'
import { type RefusedLogin, readAuditEntry } from '../refused.ts'
import { askFor, askOrThrow, clearResult } from './asking.ts'
import { consoleForms } from './contract.ts'
import {
  createCommand,
  createElement,
  createTable,
  createTermList,
  elementById,
  inputById,
  replaceContent,
  showText,
} from './dom.ts'

const textOf = (id: string): string => elementById(id, HTMLTextAreaElement).value

async function onExplain(event: Event): Promise<void> {
  event.preventDefault()
  clearResult('explain')
  const read = parseLoginJson(textOf('explain-login'))
  if ('fault' in read) return showText('explain-said', read.fault, 'bad')
  const names = [inputById('explain-mount').value, inputById('explain-role').value]
  const path = fillPath(`${consoleForms.role.path}/explain`, names)
  await askFor(
    'explain',
    async () => readLoginExplanation((await askOrThrow(path, { body: read.login })).data),
    explained => replaceContent(elementById('explain-shown'), explained, () => explainedShown(explained)),
  )
}

const TONES: Readonly<Record<string, string>> = { pass: 'good', fail: 'bad' }

const explainedShown = ({ wouldSucceed, sentence, checks }: LoginExplanation): HTMLElement[] => [
  createElement('p', { class: wouldSucceed ? 'good' : 'bad' }, sentence),
  createTable(
    ['check', 'verdict', 'message', 'value seen', 'admitted'],
    checks.map(one => [
      one.check,
      createElement('span', { class: TONES[one.verdict] ?? 'dim' }, one.verdict),
      one.message,
      one.seen,
      one.wanted,
    ]),
  ),
]

function onEntry(event: Event): void {
  event.preventDefault()
  clearResult('refused')
  const read = readAuditEntry(textOf('refused-entry'))
  if ('fault' in read) showText('refused-said', read.fault, 'bad')
  else replaceContent(elementById('refused-shown'), read, () => refusedShown(read))
}

const refusedShown = ({ sentence, advice, seen, ...read }: RefusedLogin): HTMLElement[] => [
  createElement('p', { class: 'bad' }, sentence),
  createElement('p', {}, createElement('strong', {}, 'What to do: '), advice),
  createTermList([
    ['rule', read.why],
    ['check', read.check],
    ['seen', seen],
    ['the client got', read.message],
    ['path', read.path],
    ['role', read.role],
    ['time', read.time],
    ['request_id', read.requestId],
  ]),
]

function showFinding(): void {
  const commands = findEntryCommands(inputById('request-id').value.trim())
  replaceContent(elementById('finding-shown'), commands, () => [
    createElement('ul', {}, ...commands.map(createCommand)),
  ])
}

/** Adds the handlers of the forms for refused logins. */
export function bindLoginForms(): void {
  elementById('explain-form').addEventListener('submit', event => void onExplain(event))
  elementById('refused-form').addEventListener('submit', onEntry)
  elementById('request-id').addEventListener('input', showFinding)
  showFinding()
}

/** Forgets pasted logins and entries. A signed login is a secret while it is valid. */
export function forgetLogins(): void {
  for (const id of ['explain-login', 'refused-entry']) elementById(id, HTMLTextAreaElement).value = ''
  for (const name of ['explain', 'refused']) clearResult(name)
}
