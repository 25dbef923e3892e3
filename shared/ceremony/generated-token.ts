import { type Change, remove } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/** Voids the token that was generated for operations of this DR secondary, if there is one. */
export const voidOperationToken = (): Change => remove(key('operation-token'))
