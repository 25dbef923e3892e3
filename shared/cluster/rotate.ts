import { after, answer, type Call, clusterOf, data, type Outcome } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import { withKeyring } from '../model/cluster.ts'
import { replace } from '../storage/changes.ts'
import { key, partitions } from '../storage/kinds.ts'
import { printTime } from '../values/time.ts'
import { noteTerms } from './terms.ts'

/** What rotation and key status look at, read with the request's first read. */
export const prepareKeys = async () => ({
  keys: [key('cluster'), key('keyring')] as const,
  prepared: undefined,
})

/**
 * POST sys/rotate: one more term, which encrypts from now on; what older terms encrypted still decrypts. The term is an item
 * that replicates, so that the journal carries it, and a journal that has ended refuses it. The cluster record names the
 * edition of the keyring, so that an environment which holds an older one learns of it with its next request.
 * @see docs/spec/keys.md#terms
 */
export async function rotate(call: Call): Promise<Outcome> {
  const { keyring, record } = keysOf(call)
  const { ports, now } = call
  const known = (await ports.store.list(partitions('term'))).map(({ sk }) => sk)
  const { keyring: made, terms } = await ports.genesis.withNextTerm(keyring.data, now)
  const next = withKeyring(record.data, made)
  return after([
    replace(keyring, keyring, next.keyring),
    replace(record, record, next.record),
    ...noteTerms(terms, known, now),
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
