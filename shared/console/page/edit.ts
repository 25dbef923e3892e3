import { isObject } from '../../values/json.ts'
import { formatCheckValue } from '../explained.ts'
import {
  type CompiledForm,
  type FormField,
  fillPath,
  findLine,
  formatFieldValue,
  isUnsetText,
  listDifferences,
  parseFieldText,
  parseFormFields,
  readErrorLine,
} from '../forms.ts'
import type { ApiAnswer } from './ask.ts'
import { askFor, askOrThrow, clearResult } from './asking.ts'
import { createDetails, createElement, createTermList, elementById, replaceContent, showText } from './dom.ts'
import { askCapabilities, type Permits } from './rights.ts'

/** An object of the API that this page shows, and that a permitted person edits. */
export interface Subject {
  /** the elements `<area>-said` and `<area>-shown` */
  area: 'role' | 'policy'
  /** for example "Role web of cloud" */
  title: string
  /** must be typed before the object is deleted */
  name: string
  /** values of the paths' parameters */
  places: readonly string[]
  edits: CompiledForm
  /** its path also deletes the object */
  creates: CompiledForm
  /** what a deletion ends */
  ends: string
  /** Returns the object as the API shows it; undefined: not found. */
  read(): Promise<unknown>
  /** Shows the lists again that contain the object. */
  refresh(): Promise<void>
}

/** Reads an object and the token's capabilities, and shows the forms that the token permits. */
export const openSubject = (subject: Subject): Promise<void> =>
  askFor(
    subject.area,
    async () => {
      const { edits, creates, places } = subject
      const [data, permits] = await Promise.all([
        subject.read(),
        askCapabilities([edits, creates].map(({ path }) => fillPath(path, places, String))),
      ])
      return { data, permits }
    },
    ({ data, permits }) => {
      const target = elementById(`${subject.area}-shown`)
      replaceContent(target, [subject.title, data], () => subjectShown(subject, data, permits))
      target.focus()
    },
  )

function subjectShown(subject: Subject, data: unknown, permits: Permits): HTMLElement[] {
  const { title, name, edits, creates, places, ends } = subject
  const may = ({ path, isSudo }: CompiledForm, capability: string): boolean =>
    permits.allow(fillPath(path, places, String), capability, isSudo)
  const isNew = data === undefined
  const mayWrite = isNew ? may(creates, creates.creates) : may(edits, 'update')
  return [
    createElement('h3', {}, isNew ? `${title}: not found` : title),
    createTermList(listShownFields(data)),
    ...(permits.why === '' ? [] : [createElement('p', { class: 'dim' }, permits.why)]),
    ...(mayWrite
      ? [createDetails(isNew ? 'Create' : 'Edit', createWriteForm(subject, data, isNew ? creates : edits))]
      : []),
    ...(!isNew && may(creates, 'delete')
      ? [
          createRemoval({ verb: 'Delete', name, ends }, async () => {
            clearSaid(subject)
            const answer = await writeUnlessChanged(subject, data, {
              path: fillPath(creates.path, places),
              method: 'DELETE',
            })
            await subject.refresh()
            clearResult(subject.area)
            showSaved(subject, 'Deleted.', answer)
          }),
        ]
      : []),
  ]
}

/** Lists the fields of an answer that are not empty. */
export const listShownFields = (data: unknown): (readonly [string, string])[] =>
  Object.entries(isObject(data) ? data : {})
    .map(([name, value]) => [name, formatCheckValue(value)] as const)
    .filter(([, text]) => !isUnsetText(text))

const clearSaid = ({ area }: Subject): void => showText(`${area}-said`, '')

const showSaved = ({ area }: Subject, text: string, { warnings }: ApiAnswer): void =>
  showText(`${area}-said`, [text, ...warnings].join(' '), warnings.length > 0 ? 'busy' : 'good')

/**
 * Reads the object again and sends the write, unless the object differs from the shown one.
 * @throws Error if the object has changed, or the cluster refuses
 */
async function writeUnlessChanged(
  { title, read }: Subject,
  shown: unknown,
  { path, ...request }: { path: string; method?: 'DELETE'; body?: object },
): Promise<ApiAnswer> {
  const differences = listDifferences(shown, await read())
  if (differences.length > 0)
    throw new Error(
      `${title} has changed since it was shown (${differences.join(', ')}). Nothing was written. Open it again.`,
    )
  return askOrThrow(path, request)
}

/** A field of a form with the text that it showed first. */
interface FieldInput {
  field: FormField
  label: HTMLElement
  first: string
  text(): string
}

function createFieldInput(field: FormField, value: unknown): FieldInput {
  const { name, kind, doc } = field
  const shown = formatFieldValue(kind, value)
  const isFlag = kind === 'flag'
  const input =
    isFlag || (kind === 'text' && name !== 'policy')
      ? createElement('input', { type: isFlag ? 'checkbox' : 'text', checked: shown === 'true' })
      : createElement('textarea', { rows: name === 'policy' ? 16 : 3, wrap: 'off' })
  for (const [attribute, text] of Object.entries({ name, autocomplete: 'off', spellcheck: 'false' }))
    input.setAttribute(attribute, text)
  if (!isFlag) input.value = shown
  const box = input instanceof HTMLInputElement && isFlag ? input : undefined
  // a flag without a value is neither on nor off, so that a person can send either
  if (box) box.indeterminate = shown === ''
  const text = () => (box ? (box.indeterminate ? '' : String(box.checked)) : input.value)
  const note = kind === 'list' ? '. One per line' : kind === 'json' ? '. JSON' : ''
  const label = createElement(
    'label',
    {},
    name,
    createElement('span', { class: 'dim' }, ` ${doc}${note} `),
    input,
  )
  // inputs change some texts, so the first text is read back
  return { field, label, first: text(), text }
}

function createWriteForm(subject: Subject, data: unknown, { path, fields }: CompiledForm): HTMLElement {
  const values = isObject(data) ? data : {}
  const inputs = parseFormFields(fields).map(field => createFieldInput(field, values[field.name]))
  const isFilled = ({ first }: FieldInput): boolean =>
    data === undefined || !isUnsetText(first) || inputs.length < 3
  const empty = inputs.filter(one => !isFilled(one)).map(({ label }) => label)
  const parts = [
    ...inputs.filter(isFilled).map(({ label }) => label),
    ...(empty.length > 0 ? [createDetails('Empty fields', ...empty)] : []),
  ]
  return createWorkForm({ label: data === undefined ? 'Create' : 'Save', parts }, async () => {
    clearSaid(subject)
    const changed = inputs.filter(({ first, text }) => text() !== first)
    if (data !== undefined && changed.length === 0) throw new Error('Nothing was changed.')
    const body = Object.fromEntries(
      changed.map(({ field, text }) => [field.name, parseFieldText(field, text())]),
    )
    const answer = await writeUnlessChanged(subject, data, { path: fillPath(path, subject.places), body })
    await subject.refresh()
    await openSubject(subject)
    showSaved(subject, 'Saved.', answer)
  })
}

/** Creates a form with one button, which runs its work once at a time, and shows a failure below the button. */
function createWorkForm(
  {
    label,
    parts,
    mayRun = () => true,
  }: { label: string; parts: readonly HTMLElement[]; mayRun?: () => boolean },
  work: () => Promise<void>,
): HTMLFormElement {
  const button = createElement('button', { type: 'submit' }, label)
  const said = createElement('p', { role: 'status' })
  const form = createElement('form', {}, ...parts, createElement('p', {}, button), said)
  let isRunning = false
  const update = () => {
    button.disabled = isRunning || !mayRun()
  }
  const run = async (): Promise<void> => {
    isRunning = true
    update()
    said.className = ''
    said.textContent = 'Requesting …'
    try {
      await work()
      said.textContent = ''
    } catch (error) {
      said.className = 'bad'
      said.textContent = (error as Error).message
      showErrorLine(form, said)
    }
    isRunning = false
    update()
  }
  form.addEventListener('input', update)
  form.addEventListener('submit', event => {
    event.preventDefault()
    if (!button.disabled) void run()
  })
  update()
  return form
}

/** Selects the line of a policy that an error names, and repeats the line in the error. */
function showErrorLine(form: HTMLFormElement, said: HTMLElement): void {
  const line = readErrorLine(said.textContent)
  const editor = form.querySelector<HTMLTextAreaElement>('[name=policy]')
  if (line === undefined || !editor) return
  const { start, end } = findLine(editor.value, line)
  said.append(createElement('code', {}, `${line}: ${editor.value.slice(start, end)}`))
  editor.focus()
  editor.setSelectionRange(start, end)
  editor.scrollTop = (editor.scrollHeight / editor.value.split('\n').length) * (line - 4)
}

/** Creates a form that removes an object after its name was typed. */
export function createRemoval(
  { verb, name, ends }: { verb: string; name: string; ends: string },
  remove: () => Promise<void>,
): HTMLElement {
  const typed = createElement('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' })
  const label = createElement('label', {}, `Type ${name} to confirm `, typed)
  const why = createElement('p', { class: 'bad' }, ends)
  const options = { label: verb, parts: [why, label], mayRun: () => typed.value === name }
  return createDetails(verb, createWorkForm(options, remove))
}
