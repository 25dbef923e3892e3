import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  noContentAnswer,
} from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { boolField } from '../../api/fields.ts'
import { createAndRetireTerms } from '../../cluster/terms.ts'
import {
  formatTermRecipient,
  listTermRecipients,
  recordHeldTerms,
  type TermRecipient,
} from '../../link/admin/holders.ts'
import { setRecordKeyring } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { replaceItem } from '../../storage/changes.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { ageSince, formatTime } from '../../values/time.ts'
import { readKeyringTermFacts } from '../reencryption/facts.ts'
import { showOlderTerms } from '../reencryption/show.ts'
import { type AcknowledgementPorts, awaitAcknowledgements } from '../status/acknowledged.ts'

export const rotateKeyringFields = {
  retire: boolField('End all batch tokens and prepared DR operation tokens that older terms have sealed'),
}

/** Reads cluster record and keyring together with the request's first read. */
export const prepareKeyRotation = async () => ({ keys: [key('cluster'), key('keyring')] as const })

/**
 * Handles POST sys/rotate: adds a term that encrypts from now on. Older terms still decrypt after a rotation. The
 * new term is a replicated item, so the journal contains it; a commit to an ended journal fails. The cluster record
 * contains the edition of the keyring, so an environment with an older keyring notices the rotation at its next
 * request.
 * @see docs/spec/keys.md#terms
 */
export async function handleRotate(call: Call<typeof rotateKeyringFields>): Promise<CallOutcome> {
  return rotateKeyring(call, call.parameters.retire === true)
}

/**
 * Returns the changes of a rotation. With `retire` the rotation retires all older terms, and the answer names the
 * secondaries that have acknowledged the retirement and the clusters that hold the older terms.
 * @param more warnings of the calling handler
 */
export async function rotateKeyring(
  call: Call,
  retire: boolean,
  more: readonly string[] = [],
): Promise<CallOutcome> {
  const { keyring, record } = keysOf(call)
  const { ports, now } = call
  const [known, holders, secondaries] = await Promise.all([
    ports.store.list(itemPartitions('term')),
    ports.store.list(itemPartitions('holder')),
    ports.store.list(itemPartitions('secondary')),
  ])
  const { keyring: made, terms } = await ports.keyFactory.addNextTerm(keyring.data, now)
  const next = setRecordKeyring(record.data, made)
  const noted = createAndRetireTerms(terms, known, {
    now,
    maker: record.data,
    active: made.activeTerm,
    retire,
  })
  const before = terms.map(({ id }) => id).filter(id => id !== made.activeTerm)
  const changes = [
    replaceItem(keyring, keyring, next.keyring),
    replaceItem(record, record, next.record),
    ...noted,
    ...recordHeldTerms(holders, before, secondaries, record.data),
  ]
  if (!retire) return answerAfterChanges(changes)
  const recipients = listTermRecipients(before, { self: record.data.id, terms: known, holders })
  return {
    ...answerAfterChanges(changes, noContentAnswer([ENDED, ...describeHolders(recipients), ...more])),
    lateWarnings: () => describeAcknowledgements(ports, ROTATE_NOTICE_TIMEOUT_MS),
  }
}

/** Milliseconds to wait for connected secondaries to acknowledge a retirement. */
const ROTATE_NOTICE_TIMEOUT_MS = 3000

const ENDED =
  'all batch tokens and prepared DR operation tokens made until now have ended; make new ones by POST auth/token/create-orphan with type=batch; workloads log in again'

const describeHolders = (recipients: readonly TermRecipient[]): string[] =>
  recipients.length === 0
    ? []
    : [
        `older terms were given to ${recipients.map(describeHolder).join(', ')}: these clusters, and copies of these clusters (for a drill, or after secondary/disable), can still decrypt data that older terms encrypted`,
      ]

const describeHolder = (one: TermRecipient): string =>
  `${formatTermRecipient(one)}${one.revoked ? ', which is revoked' : ''}`

/** Describes which secondaries have acknowledged the latest commit, and which have not. */
async function describeAcknowledgements(ports: AcknowledgementPorts, patience: number): Promise<string[]> {
  const { acknowledged, missing } = await awaitAcknowledgements(ports, patience)
  return [
    ...(acknowledged.length > 0 ? [`acknowledged by ${acknowledged.map(({ id }) => id).join(', ')}`] : []),
    ...missing.map(one => describeMissing(one, ports.clock.now())),
  ]
}

const describeMissing = ({ id, heartbeat }: Secondary, now: number): string => {
  const last = heartbeat ? `${Math.round(ageSince(heartbeat.at, now) / 1000)} s ago` : 'never'
  return `${id} has not yet acknowledged the rotation (last heartbeat: ${last}); until ${id} applies the rotation, that cluster accepts tokens of older terms; sys/replication/dr/status lists acknowledgements under terms`
}

/** Handles GET sys/key-status: shows the encrypting term and its age, the older terms, and the progress of re-encryption. */
export async function showKeyStatus(call: Call): Promise<CallOutcome> {
  const { term, since } = keysOf(call).keyring.data
  const facts = await readKeyringTermFacts(call.ports, { all: true })
  return answer(
    dataAnswer({ term, install_time: formatTime(since), ...(facts ? showOlderTerms(facts) : {}) }),
  )
}

function keysOf(call: Call) {
  const [record, keyring] = [call.fetched.get(key('cluster')), call.fetched.get(key('keyring'))]
  if (!record || !keyring || keyring.data.id !== call.cluster.record.keyring)
    throw new ApiError('not_initialised')
  return { record, keyring }
}
