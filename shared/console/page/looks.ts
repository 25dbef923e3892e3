import { buildShellCommands } from '../commands.ts'
import { describeExpiry, type ExpiryDescription, listTokenExpiries } from '../ends.ts'
import { apiBaseUrl, consolePageUrl } from '../links.ts'
import { describeLossReport, type LossReport, readLossReport } from '../report.ts'
import { ownApiUrl } from './ask.ts'
import { askFor, askOrThrow } from './asking.ts'
import { createCommand, createElement, createTable, elementById, replaceContent } from './dom.ts'
import { pageModel } from './model.ts'

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

/** Adds the handler of the report button. */
export function bindReportButton(): void {
  elementById('report-ask').addEventListener('click', () => void askReport())
}
