import type { Secondary } from '../../model/link.ts'
import type { ReencryptionProgress } from '../../model/reencryption.ts'
import type { Ports } from '../../ports.ts'
import type { Item } from '../../storage/kinds.ts'
import { bounds, UNUSED_TERM_KEPT_MS } from '../../values/bounds.ts'
import { formatTime } from '../../values/time.ts'
import {
  encryptsReplicatedData,
  hasOlderTerms,
  journalEpochOf,
  type KeyringTermFacts,
  readKeyringTermFacts,
} from './facts.ts'

/** Reports whether no environment encrypts with an older term any more. Environments use a keyring for up to 20 s. */
const isTermSettled = ({ now, keyring }: KeyringTermFacts): boolean =>
  now >= keyring.since + bounds.CHANGEOVER_WAIT_MS

/** Reports whether the newest term encrypts this cluster's own keys. */
export const areOwnKeysReencrypted = ({
  record,
  keyring,
}: Pick<KeyringTermFacts, 'record' | 'keyring'>): boolean => record.ownTerm === keyring.activeTerm

/** Returns the progress of re-encryption if the progress belongs to this term and this journal. */
export const currentReencryption = ({
  record,
  keyring,
  progress,
}: Pick<KeyringTermFacts, 'record' | 'keyring' | 'progress'>): ReencryptionProgress | undefined =>
  progress && progress.term === keyring.activeTerm && progress.epoch === journalEpochOf(record)
    ? progress
    : undefined

/** Reports whether the newest term encrypts all stored data. */
export const isDataReencrypted = (
  facts: Pick<KeyringTermFacts, 'record' | 'keyring' | 'progress'>,
): boolean => currentReencryption(facts)?.doneAt !== undefined

/** Returns the terms that no longer encrypt and are not destroyed. */
export const listOlderTerms = ({
  terms,
  keyring,
}: Pick<KeyringTermFacts, 'terms' | 'keyring'>): Item<'term'>[] =>
  terms.filter(({ sk, data }) => sk !== keyring.activeTerm && data.destroyed === undefined)

/** Describes what must happen before a term can be destroyed; empty if it can be destroyed now. */
export function describeTermWaits(
  { data: { unusedSince } }: Item<'term'>,
  facts: KeyringTermFacts,
): string[] {
  const { now, secondaries } = facts
  const end = unusedSince === undefined ? undefined : unusedSince + UNUSED_TERM_KEPT_MS
  return [
    ...(isDataReencrypted(facts) && unusedSince !== undefined ? [] : ['stored data is being re-encrypted']),
    ...(areOwnKeysReencrypted(facts) ? [] : ['this cluster has not re-encrypted its own keys']),
    ...secondaries
      .filter(one => one.activatedAt !== undefined && !hasFollowed(one, facts))
      .map(
        ({ id }) => `the secondary ${id} has not reported that its data and its own keys are re-encrypted`,
      ),
    ...(end === undefined || now >= end ? [] : [`the key term is kept until ${formatTime(end)}`]),
  ]
}

/** Reports whether a secondary has applied the end of the re-encryption, and has re-encrypted its own keys. */
function hasFollowed({ heartbeat }: Secondary, facts: KeyringTermFacts): boolean {
  const position = currentReencryption(facts)?.position
  return (
    heartbeat !== undefined &&
    position !== undefined &&
    heartbeat.ownTerm === facts.keyring.activeTerm &&
    heartbeat.epoch === position.epoch &&
    heartbeat.seq >= position.seq
  )
}

/** Returns the terms that may be destroyed now. */
export const listDestroyableTerms = (facts: KeyringTermFacts): Item<'term'>[] =>
  encryptsReplicatedData(facts)
    ? listOlderTerms(facts).filter(term => describeTermWaits(term, facts).length === 0)
    : []

/** Returns the destroyed terms whose keys this cluster still holds. */
export const listDroppableTerms = (facts: KeyringTermFacts): Item<'term'>[] =>
  areOwnKeysReencrypted(facts)
    ? facts.terms.filter(
        ({ sk, data }) =>
          data.destroyed !== undefined &&
          sk !== facts.keyring.activeTerm &&
          facts.keyring.termIds.includes(sk),
      )
    : []

/** Reports whether the re-encryption job has work and no run is doing the work. */
export const isTermWorkDue = (facts: KeyringTermFacts): boolean =>
  hasOlderTerms(facts.keyring) &&
  isTermSettled(facts) &&
  (facts.progress?.until ?? 0) <= facts.now &&
  (!areOwnKeysReencrypted(facts) ||
    (encryptsReplicatedData(facts) && !isDataReencrypted(facts)) ||
    listDestroyableTerms(facts).length > 0 ||
    listDroppableTerms(facts).length > 0)

/**
 * Starts the re-encryption job if it has work and no run is doing the work. A worker calls this function every
 * minute.
 */
export async function maintainReencryption(
  ports: Pick<Ports, 'store' | 'clock' | 'deployment' | 'background'>,
): Promise<void> {
  const facts = await readKeyringTermFacts(ports)
  if (facts && isTermWorkDue(facts)) await ports.background.start({ job: 'reencrypt' })
}
