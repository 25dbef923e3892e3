import type { Server } from 'node:http'
import { createDocumentAuthority, type DocumentAuthority } from '../documents/authority.ts'
import { type ArrangedFaults, createArrangedFaults } from '../faults/arranged.ts'
import type { KeptBusEvent } from '../faults/bus-events.ts'
import type { ProviderState } from './state.ts'
import { createStateWriter, loadProviderState } from './state-file.ts'

/** Default account and region of commands. */
export interface HomeAccount {
  account: string
  region: string
}

/** The state that a handler of an AWS action may read or change. */
export interface ImitatedAws {
  readonly home: HomeAccount
  readonly state: ProviderState
  readonly arranged: ArrangedFaults
  /** Metadata services with their own port, by their path on the common port. */
  readonly metadataPorts: Map<string, Promise<Server>>
  /** Called for every event on a bus. */
  onBusEvent?: (event: KeptBusEvent) => void
  /** The provider's clock: milliseconds since 1970, shifted by `arranged.clockShiftMs`. */
  now(): number
  /** Every change of `state` must be followed by a call of this function. */
  changed(): void
  /** Resolves once every change of `state` is written. */
  saved(): Promise<void>
  /** The signer of identity documents, created at the first call. */
  authority(): Promise<DocumentAuthority>
}

/**
 * Opens the imitated AWS of a state file, or a new imitated AWS.
 * @param clock epoch milliseconds, before any shift
 * @throws Error if the state file exists and cannot be read
 */
export function openImitatedAws(
  home: HomeAccount,
  stateFile: string | undefined,
  clock: () => number,
): ImitatedAws {
  const state = loadProviderState(stateFile)
  const writer = createStateWriter(stateFile, state)
  const arranged = createArrangedFaults()
  const makeAuthority = async () => {
    state.authority = await createDocumentAuthority()
    writer.changed()
    await writer.saved()
    return state.authority
  }
  let making: Promise<DocumentAuthority> | undefined
  return {
    home,
    state,
    arranged,
    metadataPorts: new Map(),
    now: () => clock() + arranged.clockShiftMs,
    ...writer,
    authority: async () => {
      if (state.authority !== null) return state.authority
      making ??= makeAuthority()
      return making
    },
  }
}
