import { alarmingTexts } from '../../../api/alarming.ts'
import {
  evaluateHeadFact,
  findBrokenHeadRules,
  growingHeadFields,
  type HeadFact,
  headRuleList,
  type JournalHead,
  type JournalHeadMode,
} from '../../../journal/head.ts'
import type { Journal } from '../../../journal/journal.ts'
import { type Epoch, epochNumber, lowestPositionOfEpoch } from '../../../journal/position.ts'
import { type HeadMove, headMoves } from '../../../journal/transitions.ts'
import { checkStoredFormat, STORED_FORMAT } from '../../../storage/format.ts'
import type { PlainItem } from '../wire/values.ts'
import { createExpressionNames, type ExpressionNames, writeWithRetries } from './conditional-writes.ts'
import { type StorageEngine, tableKeyText } from './engine.ts'

/** The key of the head: the head has a partition of its own, because every commit writes to it. */
export const journalHeadKey = { pk: 'journal', sk: 'head' } as const

/** Parses the stored head. @throws UnknownFormatError for one that another version has stored */
export function parseJournalHead({
  pk: _pk,
  sk: _sk,
  kind: _kind,
  format,
  ...stored
}: PlainItem): JournalHead {
  checkStoredFormat('journal head', format)
  return stored as unknown as JournalHead
}

/** Returns the update of a move, on condition that the head is as the move expects and breaks no rule afterwards. */
export function buildHeadUpdate(move: HeadMove) {
  const { from, next, add } = move
  const terms = createExpressionNames()
  const { name, value } = terms
  const isNew = from === 'none'
  const sets = Object.entries(next).map(([field, wanted]) => `${name(field)} = ${value(wanted)}`)
  if (isNew) sets.push(`${name('kind')} = ${value('head')}`, `${name('format')} = ${value(STORED_FORMAT)}`)
  const adds = Object.entries(add).map(([field, amount]) => `${name(field)} ${value(amount)}`)
  const [set, added] = [sets.length > 0 && `SET ${sets.join()}`, adds.length > 0 && `ADD ${adds.join()}`]
  return {
    Key: journalHeadKey,
    ConditionExpression: isNew
      ? `attribute_not_exists(${name('pk')})`
      : conditionOf({ ...move, from }, terms),
    UpdateExpression: [set, added].filter(Boolean).join(' '),
    ...terms.parts(),
  }
}

function conditionOf(
  { from, expect, next, add }: HeadMove & { from: readonly JournalHeadMode[] },
  terms: ExpressionNames,
): string {
  const { name, value } = terms
  const equal = Object.entries(expect).map(([field, wanted]) => `${name(field)} = ${value(wanted)}`)
  const [only, ...others] = from
  // the fields of the head after the move, as far as the condition fixes them
  const settled = { ...(others.length === 0 ? { mode: only } : {}), ...expect, ...next }
  const known = Object.fromEntries(Object.entries(settled).filter(([field]) => !(field in add)))
  const rules = headRuleList.flatMap(([, rule]) => (rule.holds ? [] : ruleText(rule.oneOf, known, terms)))
  const growth = growingHeadFields
    .filter(field => field in next)
    .map(field => `${name(field)} <= ${value(next[field])}`)
  const isKnown = `${name('format')} = ${value(STORED_FORMAT)}`
  return [isKnown, `${name('mode')} IN (${from.map(value).join()})`, ...equal, ...rules, ...growth].join(
    ' AND ',
  )
}

/** Returns the text of a rule that is not decided by known fields; empty if DynamoDB cannot check the rule. */
function ruleText(facts: readonly HeadFact[], known: Partial<JournalHead>, terms: ExpressionNames): string[] {
  const verdicts = facts.map(fact => evaluateHeadFact(fact, known))
  if (verdicts.includes(true)) return []
  const open = facts.filter((_, index) => verdicts[index] === undefined)
  const texts = open.map(fact => factText(fact, known, terms))
  return texts.includes(undefined) || texts.length === 0 ? [] : [`(${texts.join(' OR ')})`]
}

const SIGNS = { upTo: ['<=', '>='], below: ['<', '>'], same: ['=', '='] } as const

function factText(
  fact: HeadFact,
  known: Partial<JournalHead>,
  { name, value }: ExpressionNames,
): string | undefined {
  const { field } = fact
  if (fact.kind === 'among') return `${name(field)} IN (${fact.among.map(value).join()})`
  if (fact.kind === 'isNot') return `${name(field)} <> ${value(fact.value)}`
  const { kind, other } = fact
  const [own, its] = [known[field], known[other]]
  if (kind === 'within') {
    if (own !== undefined) return `${name(other)} >= ${value(epochNumber(String(own)))}`
    return its === undefined ? undefined : `${name(field)} < ${value(lowestPositionOfEpoch(Number(its)))}`
  }
  const [sign, turned] = SIGNS[kind]
  return own === undefined
    ? `${name(field)} ${sign} ${its === undefined ? name(other) : value(its)}`
    : `${name(other)} ${turned} ${value(own)}`
}

/**
 * Reports whether a move may be sent: the move starts from the mode that its caller has read, and its head breaks
 * no rule.
 */
export const isHeadMoveAllowed = (
  engine: Pick<StorageEngine, 'log'>,
  { from, after, name }: HeadMove,
): boolean => from.length > 0 && !logBrokenHeadRules(engine, after, name)

/** Logs the rules that a head breaks; an alarm counts these lines. */
export function logBrokenHeadRules(
  { log }: Pick<StorageEngine, 'log'>,
  head: Partial<JournalHead>,
  move: HeadMove['name'] | '',
): boolean {
  const rules = findBrokenHeadRules(head)
  if (rules.length > 0) log.error(alarmingTexts.head, { rules, move, head })
  return rules.length > 0
}

/**
 * Reads and moves the stored head. Logs an error for a head that breaks a rule, or would after a move.
 * @param allocate allocates positions; where an environment batches calls, several commits get positions by one
 * update
 */
export const createHeadStore = (
  engine: StorageEngine,
  allocate: Journal['allocate'] = epoch => allocatePosition(engine, epoch),
): Pick<Journal, 'head' | 'moveHead' | 'allocate'> => ({
  head: async () => {
    const at = { table: engine.tables.cluster, ...journalHeadKey }
    const found = (await engine.get([at])).get(tableKeyText(at))
    const head = found && parseJournalHead(found)
    if (head) logBrokenHeadRules(engine, head, '')
    return head
  },
  moveHead: move => moveHead(engine, move),
  allocate,
})

/** A position for one commit, or `refused`: this cluster does not write that epoch. */
export type AllocatedPosition = Awaited<ReturnType<Journal['allocate']>>

/** Allocates the next position for one commit. */
export async function allocatePosition(engine: StorageEngine, epoch: Epoch): Promise<AllocatedPosition> {
  const [position = 'refused'] = await allocatePositions(engine, epoch, 1)
  return position
}

/** The part of the engine that moves the head. */
export type PositionEngine = Pick<StorageEngine, 'tables' | 'log' | 'meter' | 'pause' | 'send'>

/**
 * Allocates the next `count` positions with one update.
 * @returns one position for each commit
 */
export async function allocatePositions(
  engine: PositionEngine,
  epoch: Epoch,
  count: number,
): Promise<readonly AllocatedPosition[]> {
  const move = headMoves.allocate({ epoch })
  const head = await moveHead(engine, { ...move, add: { last: count } })
  return Array.from({ length: count }, (_, index) =>
    head === 'refused' ? head : { seq: head.last - index, incarnation: head.incarnation },
  ).reverse()
}

/** @returns the head after the move */
async function moveHead(engine: PositionEngine, move: HeadMove): Promise<JournalHead | 'refused'> {
  if (!isHeadMoveAllowed(engine, move)) return 'refused'
  const update = {
    TableName: engine.tables.cluster,
    ...buildHeadUpdate(move),
    ReturnValues: 'ALL_NEW',
  } as const
  const result = await writeWithRetries(engine, () => engine.send('UpdateItem', update))
  if (!result.ok) return result.fault
  const head = parseJournalHead(result.value.Attributes ?? {})
  logBrokenHeadRules(engine, head, move.name)
  return head
}
