import type { Server } from 'node:http'
import { type Authority, createAuthority } from '../documents/authority.ts'
import { type Arranged, nothingArranged } from '../faults/arranged.ts'
import type { KeptBusEvent } from '../faults/bus-events.ts'
import type { ProviderState } from './state.ts'
import { loadState, stateWriter } from './state-file.ts'

/** The account and region that commands fall back to. */
export interface Home {
  account: string
  region: string
}

/** All a handler may read or change. */
export interface ImitatedAws {
  readonly home: Home
  readonly state: ProviderState
  readonly arranged: Arranged
  /** Metadata services with a port of their own, by their path on the common one. */
  readonly metadataPorts: Map<string, Promise<Server>>
  /** Told of every event on a bus. */
  onBusEvent?: (event: KeptBusEvent) => void
  /** The provider's clock: milliseconds since 1970, shifted by `arranged.clockShiftMs`. */
  now(): number
  /** To be called after each change of `state`. */
  changed(): void
  /** Resolves once no change of `state` is waiting to be written. */
  saved(): Promise<void>
  /** The signer of identity documents, made when first asked for. */
  authority(): Promise<Authority>
}

/**
 * Opens the imitated AWS kept in a state file, or a new one.
 *
 * @param clock epoch milliseconds, before any shift
 * @throws when the state file exists and cannot be read
 */
export function openImitatedAws(home: Home, stateFile: string | undefined, clock: () => number): ImitatedAws {
  const state = loadState(stateFile)
  const writer = stateWriter(stateFile, state)
  const arranged = nothingArranged()
  const makeAuthority = async () => {
    state.authority = await createAuthority()
    writer.changed()
    await writer.saved()
    return state.authority
  }
  let making: Promise<Authority> | undefined
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
