import { defined } from '../../../values/defined.ts'
import { type FailedResult, failed, ok, PENDING_RESULT, type Result } from '../../../values/result.ts'
import { retryWhileBusy, type StorageEngine } from './engine.ts'
import { toWriteFault, type WriteFault } from './faults.ts'

/** A condition expression, with its names and values. */
export interface ConditionParts {
  ConditionExpression?: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Record<string, unknown>
}

/** Collects the names and values of an expression. */
export function createExpressionNames() {
  const names: Record<string, string> = {}
  const values: Record<string, unknown> = {}
  return {
    name: (attribute: string): string => {
      names[`#${attribute}`] = attribute
      return `#${attribute}`
    },
    value: (value: unknown): string => {
      const known = Object.entries(values).find(([, other]) => other === value)
      const label = known?.[0] ?? `:v${Object.keys(values).length}`
      values[label] = value
      return label
    },
    parts: (): ConditionParts =>
      defined({
        ExpressionAttributeNames: Object.keys(names).length > 0 ? names : undefined,
        ExpressionAttributeValues: Object.keys(values).length > 0 ? values : undefined,
      }),
  }
}

export type ExpressionNames = ReturnType<typeof createExpressionNames>

/**
 * Sends a conditional write once. A conflict with another write is the fault `busy`, because the conflict decides
 * nothing.
 */
export async function attemptWrite<T>(
  { meter }: Pick<StorageEngine, 'meter'>,
  request: () => Promise<T>,
): Promise<Result<T, WriteFault>> {
  meter.count('dynamodb')
  try {
    return ok(await request())
  } catch (error) {
    return failed(toWriteFault(error))
  }
}

const REFUSED: FailedResult<'refused'> = failed('refused')

/**
 * Writes one item, and repeats the write while other writers change the item.
 * @returns `refused` when the item is not as the write expects
 * @throws ApiError `busy`
 */
export async function writeWithRetries<T>(
  engine: Pick<StorageEngine, 'meter' | 'pause'>,
  request: () => Promise<T>,
): Promise<Result<T, 'refused'>> {
  const ended = await retryWhileBusy(engine, async () => {
    const result = await attemptWrite(engine, request)
    return !result.ok && result.fault.kind === 'busy' ? PENDING_RESULT : ok(result)
  })
  return ended.ok ? ended : REFUSED
}
