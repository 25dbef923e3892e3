import { inOneLine } from '../output.ts'

/** Status of replication as a cluster tells it. @see docs/spec/status.md#fields */
export type ClusterTold = Readonly<Record<string, unknown>>

type Check = (value: unknown) => boolean

const isText: Check = value => typeof value === 'string'
const isNumber: Check = value => typeof value === 'number' && Number.isFinite(value)
const isFlag: Check = value => typeof value === 'boolean'
const isObject = (value: unknown): value is ClusterTold =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf =
  (check: Check): Check =>
  value =>
    Array.isArray(value) && value.every(check)
const isReadiness: Check = value =>
  isObject(value) && listOf(isText)(value['refused_by'] ?? []) && isFlag(value['ready'] ?? false)

/** What the command reads of a status, by the kinds of values that a cluster sends. */
const fields: Readonly<Record<string, Check>> = {
  mode: isText,
  state: isText,
  cluster_id: isText,
  connection_state: isText,
  primary_cluster_addr: isText,
  last_dr_wal: isNumber,
  last_remote_wal: isNumber,
  ssct_generation_counter: isNumber,
  corrupted_merkle_tree: isFlag,
  secondaries: listOf(isObject),
  primaries: listOf(isObject),
  known_secondaries: listOf(isText),
  known_primary_cluster_addrs: listOf(isText),
  operation: isObject,
  last_error: isObject,
  readiness: isReadiness,
}

/** Says what is wrong with the `data` of a status; empty: a cluster may have sent it. */
export function statusFault(data: unknown): string {
  if (!isObject(data)) return 'the answer is no status'
  const odd = Object.keys(fields).find(name => data[name] !== undefined && !fields[name]?.(data[name]))
  return odd === undefined ? '' : `the answer is no status: ${odd} has an odd value`
}

/** A field that is shown as words, in one line; empty: it is absent, or no word. */
export const wordsIn = (told: ClusterTold, field: string): string => {
  const value = told[field]
  return isText(value) || isNumber(value) || isFlag(value) ? inOneLine(String(value)) : ''
}

/** A field that is a number, or a text of one; null: it is absent, or neither. */
export function numberIn(told: ClusterTold, field: string): number | null {
  const text = wordsIn(told, field)
  return text === '' || Number.isNaN(Number(text)) ? null : Number(text)
}

/** Whether the `data` of a readiness is as a cluster sends it, as far as a switch reads it. */
export const isReadinessData = (data: ClusterTold): boolean => {
  const { checks, lag, license, operation_token: token } = data
  const isCheck: Check = value => isObject(value) && isText(value['name']) && isText(value['text'])
  return (
    (checks === undefined || listOf(isCheck)(checks)) &&
    [lag, license, token, isObject(token) ? token['presented'] : undefined].every(
      value => value === undefined || isObject(value),
    )
  )
}
