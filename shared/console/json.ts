import { isObject } from '../values/json.ts'

type Json = Readonly<Record<string, unknown>>

/** A JSON object; of anything else an empty one. */
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const jsonText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
export const numberOf = (value: unknown): number =>
  jsonText(value) !== '' && Number.isFinite(Number(value)) ? Number(value) : 0
