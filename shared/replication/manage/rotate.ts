import { after, answer, type Call, clusterOf, data, nothing, type Outcome } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { bool } from '../../api/fields.ts'
import { retiredTerms } from '../../cluster/terms.ts'
import { secondariesOf } from '../../link/admin/secondaries.ts'
import { withKeyring } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { type Change, replace } from '../../storage/changes.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { printTime } from '../../values/time.ts'
import { termFacts } from '../reencryption/facts.ts'
import { shownTerms } from '../reencryption/show.ts'

export const rotateFields = {
  retire: bool('End all batch tokens and prepared DR operation tokens that older terms have sealed'),
}

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
export async function rotate(call: Call<typeof rotateFields>): Promise<Outcome> {
  const { changes, warnings } = await rotation(call, call.given.retire === true)
  return after(changes, nothing(warnings))
}

/** A rotation, to be committed: with `retire` all older terms get a not-after of now. */
export async function rotation(
  call: Call,
  retire: boolean,
): Promise<{ changes: Change[]; warnings: string[] }> {
  const { keyring, record } = keysOf(call)
  const { ports, now } = call
  const known = await ports.store.list(partitions('term'))
  const { keyring: made, terms } = await ports.genesis.withNextTerm(keyring.data, now)
  const next = withKeyring(record.data, made)
  const noted = retiredTerms(terms, known, { now, cluster: record.data.id, active: made.active, retire })
  return {
    changes: [replace(keyring, keyring, next.keyring), replace(record, record, next.record), ...noted],
    warnings: retire ? [ENDED, ...(await hearers(call))] : [],
  }
}

const ENDED =
  'all batch tokens and prepared DR operation tokens made until now have ended; make new ones by POST auth/token/create-orphan with type=batch; workloads log in again'

/** Which clusters have to hear of a retirement. */
async function hearers(call: Call): Promise<string[]> {
  const { record } = clusterOf(call)
  if (record.mode !== 'primary') return []
  const all = secondariesOf(await call.ports.store.list(partitions('secondary')), record)
  return all.filter(one => one.activatedAt !== undefined).map(one => untilHeard(one, call.now))
}

const untilHeard = ({ id, contact }: Secondary, now: number): string => {
  const last = contact ? `${Math.round((now - contact.at) / 1000)} s ago` : 'never'
  return `the secondary ${id} honours tokens of older terms until it hears of this (its last heartbeat: ${last}); sys/replication/dr/status shows when it has this position`
}

/** GET sys/key-status: the term that encrypts, and since when; older ones, and how far what they encrypted is encrypted anew. */
export async function keyStatus(call: Call): Promise<Outcome> {
  const { term, since } = keysOf(call).keyring.data
  const facts = await termFacts(call.ports, { all: true })
  return answer(data({ term, install_time: printTime(since), ...(facts ? shownTerms(facts) : {}) }))
}

function keysOf(call: Call) {
  const [record, keyring] = [call.fetched.get(key('cluster')), call.fetched.get(key('keyring'))]
  if (!record || !keyring || keyring.data.id !== clusterOf(call).record.keyring)
    throw new ApiError('not_initialised')
  return { record, keyring }
}
