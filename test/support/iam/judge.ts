import { AsyncLocalStorage } from 'node:async_hooks'
import { appendFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import { inject } from 'vitest'
import type { AwsJsonAnswer } from '../../../shared/adapters/aws/wire/json.ts'
import type { DynamoDbCall } from '../../../shared/adapters/aws/wire/tables.ts'
import { decide, type IamRequest, type Rule, ruled } from './evaluate.ts'
import { markOf } from './grants.ts'
import { tableRequests } from './table-requests.ts'

/*
 * Checks the AWS requests of functions in tests against the policies of their roles in the templates. A
 * refused request fails as on AWS, and fails the test file. The grants that requests used are recorded for
 * the end of the run (`.config/grants.ts`).
 */

/**
 * The state of the policy checks in a test worker. The state is global, because a worker loads the modules of
 * tests more than once.
 */
interface Judging {
  function: AsyncLocalStorage<string>
  rules: Map<string, readonly Rule[]>
  /**
   * the rules that cover a function, action and resource; each rule has the text of its grant once it has
   * allowed a request
   */
  covering: Map<string, Map<Rule, string | undefined>>
  /** ARNs of tables by their names */
  arns: Map<string, string>
  /** grants that allowed a request, and the number of checked requests */
  used: Set<string>
  calls: number
  /** grants that this worker has reported already */
  told: Set<string>
  refused: string[]
}

const worker = globalThis as { judging?: Judging }
worker.judging ??= {
  function: new AsyncLocalStorage(),
  rules: new Map(),
  covering: new Map(),
  arns: new Map(),
  refused: [],
  used: new Set(),
  told: new Set(),
  calls: 0,
}
const judging: Judging = worker.judging

/**
 * Runs work as the function of a folder. AWS requests of the work are checked against the policies of the
 * function's role.
 */
export const asFunction = <T>(folder: string, work: () => T): T => judging.function.run(folder, work)

/**
 * Returns the ARN of a table by its name. The name may begin with the table's name in the template, or with
 * the word for its items.
 */
function tableArn(name: string): string {
  const known = judging.arns.get(name) ?? findTableArn(name)
  judging.arns.set(name, known)
  return known
}

function findTableArn(name: string): string {
  const { tables } = inject('ground').policies
  const given = Object.entries(tables).find(([begins]) => name.startsWith(begins))
  const [word = ''] = /^(data|cluster|ceremony)/.exec(name) ?? []
  const called = Object.entries(tables).find(([begins]) =>
    begins.toLowerCase().split('-').at(-1)?.startsWith(word),
  )
  const [, arn] = given ?? called ?? []
  if (arn === undefined) throw new Error(`the template has no table for ${name}`)
  return arn
}

function rulesOf(folder: string): readonly Rule[] {
  const known = judging.rules.get(folder)
  if (known) return known
  const statements = inject('ground').policies.functions[folder]
  if (!statements) throw new Error(`the template has no function ${folder}`)
  const rules = statements.map(ruled)
  judging.rules.set(folder, rules)
  return rules
}

/**
 * Checks AWS requests of the running function against its policies.
 * @returns why the policies refuse the requests; undefined: the requests are allowed, or no function is
 * running
 */
export function refusal(...requests: readonly IamRequest[]): string | undefined {
  const folder = judging.function.getStore()
  if (folder === undefined) return undefined
  for (const request of requests) {
    judging.calls += 1
    const covering = coveringRules(folder, request)
    const { allowed, by } = decide([...covering.keys()], request.context)
    if (!allowed) return refused(folder, request)
    for (const rule of by) {
      const mark = covering.get(rule) ?? markOf(folder, rule.statement, request)
      covering.set(rule, mark)
      judging.used.add(mark)
    }
  }
  return undefined
}

/**
 * Returns the policy rules of a function that cover an action and a resource. The result is cached, because
 * matching patterns takes most of the time of a check.
 */
function coveringRules(folder: string, request: IamRequest): Map<Rule, string | undefined> {
  const name = `${folder} ${request.action} ${request.resource}`
  const known = judging.covering.get(name)
  if (known) return known
  const rules = rulesOf(folder).filter(rule => rule.covers(request))
  const covering = new Map(rules.map(rule => [rule, undefined] as const))
  judging.covering.set(name, covering)
  return covering
}

function refused(folder: string, { action, resource, context }: IamRequest): string {
  const why = `${folder} is not authorized to perform: ${action} on resource: ${resource} ${JSON.stringify(context)}`
  judging.refused.push(why)
  return why
}

/** @throws the SDK's error if the policies refuse a request */
export function checkAllowed(...requests: readonly IamRequest[]): void {
  const why = refusal(...requests)
  if (why !== undefined) throw Object.assign(new Error(why), { name: 'AccessDeniedException' })
}

interface Refused extends AwsJsonAnswer {
  body: { __type: string; message: string }
}

/** Returns the answer to a DynamoDB call that the policies refuse. */
export function refusedCall(call: Pick<DynamoDbCall, 'operation' | 'input'>): Refused | undefined {
  if (judging.function.getStore() === undefined) return undefined
  const message = refusal(...tableRequests(call, tableArn))
  return message === undefined
    ? undefined
    : { statusCode: 400, body: { __type: 'com.amazon.coral.service#AccessDeniedException', message } }
}

/** Returns the requests that policies refused since the last call. */
export const takeRefused = (): string[] => judging.refused.splice(0)

/** Reports the grants that this worker has used since the last report, for the end of the run. */
export function tellUsed(directory: string): void {
  const news = [...judging.used].filter(mark => !judging.told.has(mark))
  for (const mark of news) judging.told.add(mark)
  const lines = [...news, JSON.stringify({ calls: judging.calls })]
  judging.calls = 0
  appendFileSync(`${directory}/grants-${process.pid}-${threadId}`, `${lines.join('\n')}\n`)
}
