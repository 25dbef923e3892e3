import { after, answer, type Call, clusterOf, data, type Outcome } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import { replace } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { printTime } from '../values/time.ts'

/** What rotation and key status look at, read with the request's first read. */
export const prepareKeys = async () => ({
  keys: [key('cluster'), key('keyring')] as const,
  prepared: undefined,
})

/**
 * POST sys/rotate: one more term, which encrypts from now on; what older terms encrypted still decrypts. The cluster record
 * names the newest term, so that an environment which holds an older keyring learns of it with its next request.
 */
export async function rotate(call: Call): Promise<Outcome> {
  const { keyring, record } = keysOf(call)
  const next = await call.ports.genesis.withNextTerm(keyring.data, call.now)
  return after([
    replace(keyring, keyring, next),
    replace(record, record, { ...record.data, term: next.term }),
  ])
}

/** GET sys/key-status: the term that encrypts, and since when. */
export function keyStatus(call: Call): Outcome {
  const { term, since } = keysOf(call).keyring.data
  return answer(data({ term, install_time: printTime(since) }))
}

function keysOf(call: Call) {
  const [record, keyring] = [call.fetched.get(key('cluster')), call.fetched.get(key('keyring'))]
  if (!record || !keyring || keyring.data.id !== clusterOf(call).record.keyring)
    throw new ApiError('not_initialised')
  return { record, keyring }
}
