/** A value as the engine writes it. */
export type Wire = {
  S?: string
  N?: string
  BOOL?: boolean
  NULL?: true
  B?: string
  M?: WireItem
  L?: Wire[]
}
export type WireItem = Record<string, Wire>
