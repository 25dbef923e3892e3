import { CONFLICT, ok } from '../../../values/result.ts'
import { retrying } from '../../../values/retrying.ts'
import type { Engine } from './engine.ts'
import { STORAGE_TRIES } from './engine.ts'
import { busy, type Failure, failureOf } from './verdict.ts'

/** A single write. Only a condition decides something; a conflict does not. */
export async function attempted<T>(
  { meter }: Pick<Engine, 'meter'>,
  request: () => Promise<T>,
): Promise<{ value: T } | Failure> {
  meter.count('dynamodb')
  try {
    return { value: await request() }
  } catch (error) {
    return failureOf(error)
  }
}

/**
 * A write of one item, again while others write to it.
 * @returns what the engine said; `refused` when the item is not as the write expects
 * @throws ApiError `busy`
 */
export async function insisted<T>(
  engine: Pick<Engine, 'meter' | 'pause'>,
  request: () => Promise<T>,
): Promise<{ value: T } | 'refused'> {
  const result = await retrying({ tries: STORAGE_TRIES, pause: engine.pause }, async () => {
    const outcome = await attempted(engine, request)
    return outcome === 'again' ? CONFLICT : ok(outcome)
  })
  if (!result.ok) throw busy()
  return 'value' in result.value ? result.value : 'refused'
}
