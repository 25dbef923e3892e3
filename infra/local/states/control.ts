import type { Body, Choice, MapState, Parallel, Wait } from './definition.ts'
import type { StateLine, StatesDependencies } from './dependencies.ts'
import { evaluate, type Names } from './expressions.ts'
import { StateFault } from './fault.ts'
import type { StatePlace } from './store.ts'

type Rule = Pick<Choice['Choices'][number], 'Next' | 'Assign' | 'Output'>

const unfit = (what: string) => new StateFault('States.QueryEvaluationError', what)

/** The first rule that applies, or the default with what the state itself says. @throws StateFault */
export async function choose({ Choices, Default, Assign, Output }: Choice, names: Names): Promise<Rule> {
  for (const { Condition, Next, Assign, Output } of Choices) {
    const applies = await evaluate(Condition, names)
    if (typeof applies !== 'boolean') throw unfit(`the condition ${Condition} is neither true nor false`)
    if (applies) return { Next, Assign, Output }
  }
  if (Default === undefined) throw new StateFault('States.NoChoiceMatched', 'no rule applies')
  return { Next: Default, Assign, Output }
}

/** Waits. When that began, its end was written down: whoever starts again waits for the rest only. */
export async function runWait(
  dependencies: StatesDependencies,
  line: StateLine,
  { Seconds, Timestamp }: Wait,
  place: StatePlace,
  names: Names,
): Promise<void> {
  const moment =
    place.until ??
    (Timestamp === undefined
      ? place.entered + 1000 * Number(await evaluate(Seconds, names))
      : Date.parse(String(await evaluate(Timestamp, names))))
  if (!Number.isFinite(moment)) throw unfit('the wait has no end')
  dependencies.store.putPlace(line.execution.arn, line.path, { ...place, until: moment })
  await dependencies.time.until(moment, line.signal)
}

/** How lines below a state run. */
interface Below {
  child(index: number, more: Partial<StateLine>): StateLine
  run(body: Body, input: unknown, line: StateLine): Promise<unknown>
}

/** Does the same for each element of a list. @returns the outputs, in its order */
export async function applyElements(
  { signal }: StateLine,
  { Items, ItemSelector, ItemProcessor, MaxConcurrency }: MapState,
  place: StatePlace,
  names: Names,
  { child, run }: Below,
): Promise<unknown[]> {
  const items = Items === undefined ? place.input : await evaluate(Items, names)
  if (!Array.isArray(items)) throw unfit('the items of the Map are no list')
  const works = items.map((Value: unknown, Index) => async (own: AbortSignal) => {
    const item = { Index, Value }
    const input = ItemSelector === undefined ? Value : await evaluate(ItemSelector, withItem(names, item))
    return run(ItemProcessor, input, child(Index, { signal: own, item }))
  })
  return together(works, MaxConcurrency || works.length, signal)
}

function withItem(names: Names, item: StateLine['item']): Names {
  const { context, ...states } = names['states'] as { context: object }
  return { ...names, states: { ...states, context: { ...context, Map: { Item: item } } } }
}

/** Runs several branches on the same input. @returns their outputs, in their order */
export async function applyBranches(
  { signal }: StateLine,
  { Branches, Arguments }: Parallel,
  place: StatePlace,
  names: Names,
  { child, run }: Below,
): Promise<unknown[]> {
  const input = Arguments === undefined ? place.input : await evaluate(Arguments, names)
  const works = Branches.map(
    (branch, index) => (own: AbortSignal) => run(branch, input, child(index, { signal: own })),
  )
  return together(works, works.length, signal)
}

/** Does works side by side. When one fails, the others are told to stop, and that is waited for. */
async function together(
  works: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  atOnce: number,
  outer: AbortSignal,
): Promise<unknown[]> {
  const own = new AbortController()
  const signal = AbortSignal.any([outer, own.signal])
  const results: unknown[] = []
  const faults: unknown[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < works.length && faults.length === 0) {
      const index = next++
      try {
        results[index] = await works[index]?.(signal)
      } catch (fault) {
        faults.push(fault)
        own.abort()
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  if (faults.length > 0) throw faults[0]
  return results
}
