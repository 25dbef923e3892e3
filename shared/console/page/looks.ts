import { isObject } from '../../values/json.ts'
import { readShape } from '../../values/read-shape.ts'
import { mapShape, objectShape, textArrayShape, textShape } from '../../values/shape.ts'
import { buildShellCommands } from '../commands.ts'
import {
  describeExpiry,
  type ExpiryDescription,
  listTokenExpiries,
  readCertificateNotAfter,
} from '../ends.ts'
import {
  formatCheckValue,
  type LoginExplanation,
  parseLoginJson,
  readLoginExplanation,
} from '../explained.ts'
import { apiBaseUrl, consolePageUrl } from '../links.ts'
import { describeLossReport, type LossReport, readLossReport } from '../report.ts'
import { type ApiAnswer, askApi, faultText, ownApiUrl } from './ask.ts'
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
import { pageModel } from './model.ts'

const listShape = objectShape({ keys: textArrayShape })
const mountsShape = objectShape({ mounts: mapShape(objectShape({ type: textShape, accessor: textShape })) })
const certificateShape = objectShape({ cloud_public_cert: textShape })

/** Returns a note on fields that were omitted because a cluster of another version sent them. */
export const omittedFieldsNote = (odd: readonly string[]): HTMLElement[] =>
  odd.length === 0
    ? []
    : [createElement('p', { class: 'dim' }, `omitted fields of another version: ${odd.join(', ')}`)]

/** Sends a request and shows a failure in the element `<name>-said`. @returns a successful answer */
async function askAndReport(name: string, path: string, body?: object): Promise<ApiAnswer | undefined> {
  showText(`${name}-said`, 'Requesting …')
  try {
    const token = pageModel.token || pageModel.operationToken
    const answer = await askApi(ownApiUrl, path, { token, ...(body ? { body } : {}) })
    const why = token === '' ? ' (no token was entered)' : ''
    showText(`${name}-said`, answer.isOk ? '' : answer.refused + why, answer.isOk ? '' : 'bad')
    return answer.isOk ? answer : undefined
  } catch (error) {
    showText(`${name}-said`, `No answer: ${faultText(error)}`, 'bad')
    return undefined
  }
}

async function askReport(after = ''): Promise<void> {
  const query = after === '' ? '' : `?after=${encodeURIComponent(after)}`
  const answer = await askAndReport('report', `sys/replication/dr/divergence${query}`)
  if (!answer) return
  const report = readLossReport(answer.data)
  const target = elementById('report-shown')
  if (after === '') replaceContent(target, report, () => reportShown(report))
  else target.append(lostTable(report), ...moreOf(report))
}

function reportShown(report: LossReport): HTMLElement[] {
  const { kinds, diverging } = report
  return [
    createElement('p', { class: report.complete ? '' : 'busy' }, describeLossReport(report)),
    ...(kinds.length === 0
      ? []
      : [
          createTable(
            ['kind', 'written', 'deleted', 'what to do'],
            kinds.map(one => [one.kind, String(one.written), String(one.deleted), one.todo]),
          ),
        ]),
    ...(report.lost.length === 0 ? [] : [createElement('h3', {}, 'Each change'), lostTable(report)]),
    ...(diverging.length === 0
      ? []
      : [
          createElement('h3', {}, 'Items that keep differing'),
          createElement('ul', {}, ...diverging.map(what => createElement('li', {}, what))),
        ]),
    ...omittedFieldsNote(report.odd),
    ...moreOf(report),
  ]
}

const lostTable = ({ lost }: LossReport): HTMLElement =>
  createTable(
    ['what', 'kind', 'when'],
    lost.map(one => [one.isDeleted ? `${one.what}: deleted` : one.what, one.kind, one.time]),
  )

function moreOf({ next }: LossReport): HTMLElement[] {
  if (next === '') return []
  const button = createElement('button', { type: 'button' }, 'More')
  button.addEventListener('click', () => {
    button.remove()
    void askReport(next)
  })
  return [button]
}

/** Shows tokens, certificates and licences that expire. */
export function showExpiries(now: number): void {
  const { readiness, own, certificates } = pageModel
  const { answer } = own
  const rows: ExpiryDescription[] = [
    ...(readiness
      ? listTokenExpiries(readiness, now)
      : answer?.status.mode === 'disabled'
        ? []
        : [
            {
              what: 'the prepared token',
              tone: 'unknown',
              text: 'request the readiness with the prepared token',
            } as const,
          ]),
    answer && answer.licenceEnds === undefined
      ? ({ what: 'the licence', tone: 'unknown', text: 'there is none' } as const)
      : describeExpiry('the licence', 'licence', answer?.licenceEnds, now),
    ...(certificates.length > 0
      ? certificates
      : [
          {
            what: 'certificates of mounts',
            tone: 'unknown',
            text: 'click “Show mounts and roles” below',
          } as const,
        ]),
  ]
  replaceContent(elementById('ends-shown'), rows, () => [
    createTable(
      ['what', 'when'],
      rows.map(({ what, tone, text }) => [what, createElement('span', { class: tone }, text)]),
    ),
  ])
}

/** Returns the names of a listing. An empty listing is answered with 404. */
async function namesAt(path: string): Promise<readonly string[]> {
  const answer = await askApi(ownApiUrl, `${path}?list=true`, { token: pageModel.token })
  return readShape(listShape, answer.data).fields.keys ?? []
}

const segment = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

async function askRoles(): Promise<void> {
  const answer = await askAndReport('roles', 'sys/auth')
  if (!answer) return
  const { mounts = {} } = readShape(mountsShape, { mounts: answer.data }).fields
  const methods = Object.entries(mounts)
    .map(([path, { type, accessor }]) => ({ path: path.replace(/\/$/, ''), type, accessor }))
    .filter(({ type }) => type !== 'token')
  const roles = await Promise.all(methods.map(({ path }) => namesAt(`auth/${segment(path)}/roles`)))
  const found = methods.map((mount, index) => ({ ...mount, roles: roles[index] ?? [] }))
  pageModel.certificates = (await Promise.all(methods.map(({ path }) => certificatesOf(path)))).flat()
  showExpiries(Date.now())
  const rows = found.map(({ path, type, accessor, roles }) => [
    path,
    type,
    accessor,
    createElement('span', {}, ...roles.map(role => roleButton(path, role))),
  ])
  replaceContent(elementById('roles-shown'), found, () => [
    createTable(['mount', 'type', 'accessor', 'roles'], rows),
  ])
}

async function certificatesOf(mount: string): Promise<ExpiryDescription[]> {
  const path = `auth/${segment(mount)}/config/certificate`
  const names = await namesAt(`${path}s`)
  return Promise.all(
    names.map(async name => {
      const { data } = await askApi(ownApiUrl, `${path}/${segment(name)}`, { token: pageModel.token })
      const { cloud_public_cert: pem = '' } = readShape(certificateShape, data).fields
      return describeExpiry(
        `certificate ${name} of ${mount}`,
        'certificate',
        readCertificateNotAfter(pem),
        Date.now(),
      )
    }),
  )
}

function roleButton(mount: string, role: string): HTMLElement {
  const button = createElement('button', { type: 'button' }, role)
  button.addEventListener('click', () => void showRole(mount, role))
  return button
}

async function showRole(mount: string, role: string): Promise<void> {
  const answer = await askAndReport('roles', `auth/${segment(mount)}/role/${segment(role)}`)
  if (!answer) return
  const fields = Object.entries(isObject(answer.data) ? answer.data : {})
    .map(([name, value]) => [name, formatCheckValue(value)] as const)
    .filter(([, text]) => !['', '[]', '{}', '0', 'false'].includes(text))
  const target = elementById('role-shown')
  replaceContent(target, [mount, role, fields], () => [
    createElement('h3', {}, `Role ${role} of ${mount}`),
    createTermList(fields),
  ])
  inputById('explain-mount').value = mount
  inputById('explain-role').value = role
  target.focus()
}

async function onExplain(event: Event): Promise<void> {
  event.preventDefault()
  const read = parseLoginJson(elementById('explain-login', HTMLTextAreaElement).value)
  if ('fault' in read) return showText('explain-said', read.fault, 'bad')
  const path = `auth/${segment(inputById('explain-mount').value)}/role/${segment(inputById('explain-role').value)}/explain`
  const answer = await askAndReport('explain', path, read.login)
  if (!answer) return
  const explained = readLoginExplanation(answer.data)
  replaceContent(elementById('explain-shown'), explained, () => explainedShown(explained))
}

const TONES: Readonly<Record<string, string>> = { pass: 'good', fail: 'bad' }

const explainedShown = ({ wouldSucceed, sentence, checks }: LoginExplanation): HTMLElement[] => [
  createElement('p', { class: wouldSucceed ? 'good' : 'bad' }, sentence),
  createTable(
    ['check', 'verdict', 'message', 'value seen', 'value wanted'],
    checks.map(one => [
      one.check,
      createElement('span', { class: TONES[one.verdict] ?? 'dim' }, one.verdict),
      one.message,
      one.seen,
      one.wanted,
    ]),
  ),
]

/** Shows the commands with the addresses and the name known so far. */
export function showShellCommands(): void {
  const { own, peer } = pageModel
  const { answer } = own
  const other = consolePageUrl(peer?.origin ?? '') ? apiBaseUrl(peer?.origin ?? '') : ''
  const commands = buildShellCommands({
    own: ownApiUrl,
    other,
    name: answer?.status.memberName || answer?.cluster || '',
  })
  replaceContent(elementById('commands-shown'), commands, () => [
    createElement('ul', {}, ...commands.map(createCommand)),
  ])
}

/** Adds the handlers of the report, roles and explain buttons. */
export function bindReadButtons(): void {
  elementById('report-ask').addEventListener('click', () => void askReport())
  elementById('roles-ask').addEventListener('click', () => void askRoles())
  elementById('explain-form').addEventListener('submit', event => void onExplain(event))
}
