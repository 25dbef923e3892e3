type Json = Readonly<Record<string, unknown>>

/** A JSON object; of anything else an empty one. */
export const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const jsonText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
export const numberOf = (value: unknown): number =>
  jsonText(value) !== '' && Number.isFinite(Number(value)) ? Number(value) : 0
