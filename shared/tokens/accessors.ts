import { answer, type Call, keys, type Outcome } from '../api/call.ts'
import { isAlive } from './descendants.ts'

const SEGMENTS = 4

/** LIST auth/token/accessors: reads all tokens, in segments. */
export async function listAccessors(call: Call): Promise<Outcome> {
  const segments = Array.from({ length: SEGMENTS }, (_, index) => segment(call, index))
  return answer(keys((await Promise.all(segments)).flat().sort()))
}

async function segment(call: Call, index: number): Promise<string[]> {
  const found: string[] = []
  for await (const { items } of call.ports.store.scan('token', { index, of: SEGMENTS })) {
    found.push(
      ...items.filter(item => isAlive(item.data, call)).map(item => item.pk.slice(item.pk.indexOf('#') + 1)),
    )
  }
  return found
}
