import { isObject } from '../../values/json.ts'
import { readShape } from '../../values/read-shape.ts'
import { mapShape, objectShape, textArrayShape, textShape } from '../../values/shape.ts'
import { buildCommands } from '../commands.ts'
import { describeExpiry, type Expiry, listTokenExpiries, readNotAfter } from '../ends.ts'
import { type Explanation, formatValue, parseLogin, readExplanation } from '../explained.ts'
import { apiBaseUrl, consolePageUrl } from '../links.ts'
import { describeReport, type LossReport, readReport } from '../report.ts'
import { type ApiAnswer, askApi, faultText, ownApi } from './ask.ts'
import { byId, el, facts, input, replaceContent, showText, table } from './dom.ts'
import { model } from './model.ts'

const listShape = objectShape({ keys: textArrayShape })
const mountsShape = objectShape({ mounts: mapShape(objectShape({ type: textShape, accessor: textShape })) })
const certificateShape = objectShape({ cloud_public_cert: textShape })

/** Returns a note on fields that were omitted because a cluster of another version sent them. */
export const omittedFieldsNote = (odd: readonly string[]): HTMLElement[] =>
  odd.length === 0 ? [] : [el('p', { class: 'dim' }, `fields omitted (other version): ${odd.join(', ')}`)]

/** Sends a request and shows a failure in the element `<name>-said`. @returns a successful answer */
async function askAndReport(name: string, path: string, body?: object): Promise<ApiAnswer | undefined> {
  showText(`${name}-said`, 'Requesting …')
  try {
    const token = model.token || model.operationToken
    const answer = await askApi(ownApi, path, { token, ...(body ? { body } : {}) })
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
  const report = readReport(answer.data)
  const target = byId('report-shown')
  if (after === '') replaceContent(target, report, () => reportShown(report))
  else target.append(lostTable(report), ...moreOf(report))
}

function reportShown(report: LossReport): HTMLElement[] {
  const { kinds, diverging } = report
  return [
    el('p', { class: report.complete ? '' : 'busy' }, describeReport(report)),
    ...(kinds.length === 0
      ? []
      : [
          table(
            ['kind', 'written', 'deleted', 'what to do'],
            kinds.map(one => [one.kind, String(one.written), String(one.deleted), one.todo]),
          ),
        ]),
    ...(report.lost.length === 0 ? [] : [el('h3', {}, 'Each change'), lostTable(report)]),
    ...(diverging.length === 0
      ? []
      : [
          el('h3', {}, 'Items that keep differing'),
          el('ul', {}, ...diverging.map(what => el('li', {}, what))),
        ]),
    ...omittedFieldsNote(report.odd),
    ...moreOf(report),
  ]
}

const lostTable = ({ lost }: LossReport): HTMLElement =>
  table(
    ['what', 'kind', 'when'],
    lost.map(one => [one.isDeleted ? `${one.what}: deleted` : one.what, one.kind, one.time]),
  )

function moreOf({ next }: LossReport): HTMLElement[] {
  if (next === '') return []
  const button = el('button', { type: 'button' }, 'More')
  button.addEventListener('click', () => {
    button.remove()
    void askReport(next)
  })
  return [button]
}

/** Shows what expires. */
export function showEnds(now: number): void {
  const { readiness, own, certificates } = model
  const { answer } = own
  const rows: Expiry[] = [
    ...(readiness
      ? listTokenExpiries(readiness, now)
      : [
          {
            what: 'the prepared token',
            tone: 'unknown',
            text: 'request the readiness with that token',
          } as const,
        ]),
    answer && answer.licenceEnds === undefined
      ? ({ what: 'the licence', tone: 'unknown', text: 'there is none' } as const)
      : describeExpiry('the licence', 'licence', answer?.licenceEnds, now),
    ...(certificates.length > 0
      ? certificates
      : [{ what: 'certificates of mounts', tone: 'unknown', text: 'show mounts and roles below' } as const]),
  ]
  replaceContent(byId('ends-shown'), rows, () => [
    table(
      ['what', 'when'],
      rows.map(({ what, tone, text }) => [what, el('span', { class: tone }, text)]),
    ),
  ])
}

/** Returns the names of a listing. An empty listing is a 404. */
async function namesAt(path: string): Promise<readonly string[]> {
  const answer = await askApi(ownApi, `${path}?list=true`, { token: model.token })
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
  model.certificates = (await Promise.all(methods.map(({ path }) => certificatesOf(path)))).flat()
  showEnds(Date.now())
  const rows = found.map(({ path, type, accessor, roles }) => [
    path,
    type,
    accessor,
    el('span', {}, ...roles.map(role => roleButton(path, role))),
  ])
  replaceContent(byId('roles-shown'), found, () => [table(['mount', 'type', 'accessor', 'roles'], rows)])
}

async function certificatesOf(mount: string): Promise<Expiry[]> {
  const path = `auth/${segment(mount)}/config/certificate`
  const names = await namesAt(`${path}s`)
  return Promise.all(
    names.map(async name => {
      const { data } = await askApi(ownApi, `${path}/${segment(name)}`, { token: model.token })
      const { cloud_public_cert: pem = '' } = readShape(certificateShape, data).fields
      return describeExpiry(`certificate ${name} of ${mount}`, 'certificate', readNotAfter(pem), Date.now())
    }),
  )
}

function roleButton(mount: string, role: string): HTMLElement {
  const button = el('button', { type: 'button' }, role)
  button.addEventListener('click', () => void showRole(mount, role))
  return button
}

async function showRole(mount: string, role: string): Promise<void> {
  const answer = await askAndReport('roles', `auth/${segment(mount)}/role/${segment(role)}`)
  if (!answer) return
  const fields = Object.entries(isObject(answer.data) ? answer.data : {})
    .map(([name, value]) => [name, formatValue(value)] as const)
    .filter(([, text]) => !['', '[]', '{}', '0', 'false'].includes(text))
  const target = byId('role-shown')
  replaceContent(target, [mount, role, fields], () => [
    el('h3', {}, `Role ${role} of ${mount}`),
    facts(fields),
  ])
  input('explain-mount').value = mount
  input('explain-role').value = role
  target.focus()
}

async function onExplain(event: Event): Promise<void> {
  event.preventDefault()
  const read = parseLogin(byId('explain-login', HTMLTextAreaElement).value)
  if ('fault' in read) return showText('explain-said', read.fault, 'bad')
  const path = `auth/${segment(input('explain-mount').value)}/role/${segment(input('explain-role').value)}/explain`
  const answer = await askAndReport('explain', path, read.login)
  if (!answer) return
  const explained = readExplanation(answer.data)
  replaceContent(byId('explain-shown'), explained, () => explainedShown(explained))
}

const TONES: Readonly<Record<string, string>> = { pass: 'good', fail: 'bad' }

const explainedShown = ({ wouldSucceed, sentence, checks }: Explanation): HTMLElement[] => [
  el('p', { class: wouldSucceed ? 'good' : 'bad' }, sentence),
  table(
    ['check', 'verdict', 'message', 'value seen'],
    checks.map(one => [
      one.check,
      el('span', { class: TONES[one.verdict] ?? 'dim' }, one.verdict),
      one.message,
      one.seen,
    ]),
  ),
]

/** Shows the commands with the addresses and the name known so far. */
export function showCommands(): void {
  const { own, peer } = model
  const { answer } = own
  const other = consolePageUrl(peer?.origin ?? '') ? apiBaseUrl(peer?.origin ?? '') : ''
  const commands = buildCommands({
    own: ownApi,
    other,
    name: answer?.status.memberName || answer?.cluster || '',
  })
  replaceContent(byId('commands-shown'), commands, () =>
    commands.flatMap(({ what, text }) => [el('p', {}, what), el('pre', { tabindex: 0 }, text)]),
  )
}

/** Adds the handlers of the report, roles and explain buttons. */
export function bindLooks(): void {
  byId('report-ask').addEventListener('click', () => void askReport())
  byId('roles-ask').addEventListener('click', () => void askRoles())
  byId('explain-form').addEventListener('submit', event => void onExplain(event))
}
