import { answer, type Call, type CallOutcome, keyListAnswer } from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import { type listFields, readPageParameters } from '../api/listing.ts'
import type { ListPage, ScanSegment } from '../ports.ts'
import { type Item, key } from '../storage/kinds.ts'
import { isTokenAlive } from './descendants.ts'

const SEGMENTS = 4

/**
 * Handles LIST auth/token/accessors. Without `after` and `limit` the handler scans all tokens in segments and sorts
 * their accessors. A page of accessors reads only as many items as it needs, and returns them in table order, which
 * is unpredictable. `after` is the last accessor of the previous page. If the token of `after` is gone, DynamoDB
 * continues after its position. Other engines may find nothing in this case, so an empty page is an error, because
 * the client would take the list for complete.
 */
export async function listTokenAccessors(call: Call<typeof listFields>): Promise<CallOutcome> {
  const page = readPageParameters(call.parameters)
  if (page.after !== undefined || page.limit !== undefined)
    return answer(keyListAnswer(await onePage(call, page)))
  const segments = Array.from({ length: SEGMENTS }, (_, index) => segment(call, { index, of: SEGMENTS }))
  return answer(keyListAnswer((await Promise.all(segments)).flat().sort()))
}

const accessorOf = ({ pk }: Pick<Item, 'pk'>): string => pk.slice(pk.indexOf('#') + 1)

async function segment(call: Call, where: ScanSegment): Promise<string[]> {
  const found: string[] = []
  for await (const { items } of call.ports.store.scan('token', where))
    found.push(...items.filter(item => isTokenAlive(item.data, call)).map(accessorOf))
  return found
}

async function onePage(call: Call, { after, limit = Number.POSITIVE_INFINITY }: ListPage): Promise<string[]> {
  const from = after === undefined ? undefined : key('token', after)
  const found: string[] = []
  const where = { index: 0, of: 1, from: from && { pk: from.pk, sk: from.sk }, limit }
  for await (const { items } of call.ports.store.scan('token', where)) {
    found.push(...items.filter(item => isTokenAlive(item.data, call)).map(accessorOf))
    if (found.length >= limit) break
  }
  if (found.length === 0 && from && !(await call.ports.store.read([from]))[0])
    throw invalidRequestError(
      'after: the token of this accessor no longer exists; use the previous accessor of the list',
    )
  return found.slice(0, limit)
}
