import { defined } from '../../../values/defined.ts'

/** An item of any shape, as the engine gives it. */
export type Raw = Record<string, unknown>

/** An expression of the engine, with the names and values in it. */
export interface ExpressionParts {
  ConditionExpression?: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Record<string, unknown>
}

/** Collects names and values of an expression. */
export function termsOf() {
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
    parts: (): ExpressionParts =>
      defined({
        ExpressionAttributeNames: Object.keys(names).length > 0 ? names : undefined,
        ExpressionAttributeValues: Object.keys(values).length > 0 ? values : undefined,
      }),
  }
}

export type Terms = ReturnType<typeof termsOf>
