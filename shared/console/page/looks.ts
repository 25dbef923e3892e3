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
import { formatCheckValue } from '../explained.ts'
import { apiBaseUrl, consolePageUrl } from '../links.ts'
import { describeLossReport, type LossReport, readLossReport } from '../report.ts'
import { askApi, faultText, ownApiUrl } from './ask.ts'
import { askFor, askOrThrow, clearResult } from './asking.ts'
import {
  createCommand,
  createElement,
  createTable,
  createTermList,
  elementById,
  inputById,
  replaceContent,
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

const reportAt = async (after: string): Promise<LossReport> => {
  const query = after === '' ? '' : `?after=${encodeURIComponent(after)}`
  return readLossReport((await askOrThrow(`sys/replication/dr/divergence${query}`)).data)
}

const askReport = (): Promise<void> =>
  askFor(
    'report',
    () => reportAt(''),
    report => replaceContent(elementById('report-shown'), report, () => reportShown(report)),
  )

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
  const said = createElement('span', { class: 'bad', role: 'status' })
  button.addEventListener('click', () => {
    said.textContent = ''
    reportAt(next).then(
      report => {
        const parts = [lostTable(report), ...moreOf(report)]
        button.replaceWith(...parts)
        said.remove()
      },
      (error: Error) => {
        said.textContent = error.message
      },
    )
  })
  return [button, said]
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

/** The names of a listing, or why the names are unknown. */
type Listing = { names: readonly string[] } | { fault: string }

/** Reads the names of a listing. An empty listing is answered with 404. */
async function namesAt(path: string): Promise<Listing> {
  try {
    const answer = await askApi(ownApiUrl, `${path}?list=true`, { token: pageModel.token })
    if (!answer.isOk && answer.status !== 404) return { fault: answer.refused }
    return { names: readShape(listShape, answer.data).fields.keys ?? [] }
  } catch (error) {
    return { fault: `The cluster did not answer: ${faultText(error)}.` }
  }
}

const segment = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

const askRoles = (): Promise<void> => {
  clearResult('role')
  return askFor('roles', readMounts, ({ found, certificates }) => {
    pageModel.certificates = certificates
    showExpiries(Date.now())
    const rows = found.map(({ path, type, accessor, roles }) => [
      path,
      type,
      accessor,
      'fault' in roles
        ? createElement('span', { class: 'bad' }, roles.fault)
        : createElement(
            'span',
            {},
            ...(roles.names.length === 0 ? ['none'] : roles.names.map(role => roleButton(path, role))),
          ),
    ])
    replaceContent(elementById('roles-shown'), found, () => [
      createTable(['mount', 'type', 'accessor', 'roles'], rows),
    ])
  })
}

async function readMounts() {
  const answer = await askOrThrow('sys/auth')
  const { mounts = {} } = readShape(mountsShape, { mounts: answer.data }).fields
  const methods = Object.entries(mounts)
    .map(([path, { type, accessor }]) => ({ path: path.replace(/\/$/, ''), type, accessor }))
    .filter(({ type }) => type !== 'token')
  const [roles, certificates] = await Promise.all([
    Promise.all(methods.map(({ path }) => namesAt(`auth/${segment(path)}/roles`))),
    Promise.all(methods.map(({ path }) => certificatesOf(path))),
  ])
  const found = methods.map((mount, index) => ({ ...mount, roles: roles[index] ?? { names: [] } }))
  return { found, certificates: certificates.flat() }
}

async function certificatesOf(mount: string): Promise<ExpiryDescription[]> {
  const path = `auth/${segment(mount)}/config/certificate`
  const listed = await namesAt(`${path}s`)
  if ('fault' in listed) return [{ what: `certificates of ${mount}`, tone: 'unknown', text: listed.fault }]
  return Promise.all(
    listed.names.map(async name => {
      const what = `certificate ${name} of ${mount}`
      const answer = await askOrThrow(`${path}/${segment(name)}`).catch((error: Error) => error)
      if (answer instanceof Error) return { what, tone: 'unknown', text: answer.message } as const
      const { cloud_public_cert: pem = '' } = readShape(certificateShape, answer.data).fields
      return describeExpiry(what, 'certificate', readCertificateNotAfter(pem), Date.now())
    }),
  )
}

function roleButton(mount: string, role: string): HTMLElement {
  const button = createElement('button', { type: 'button' }, role)
  button.addEventListener('click', () => void showRole(mount, role))
  return button
}

const showRole = (mount: string, role: string): Promise<void> =>
  askFor(
    'role',
    () => askOrThrow(`auth/${segment(mount)}/role/${segment(role)}`),
    answer => {
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
    },
  )

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

/** Adds the handlers of the report and roles buttons. */
export function bindReadButtons(): void {
  elementById('report-ask').addEventListener('click', () => void askReport())
  elementById('roles-ask').addEventListener('click', () => void askRoles())
}
