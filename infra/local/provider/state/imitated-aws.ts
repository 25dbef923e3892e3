import type { Server } from 'node:http'
import { type Authority, createAuthority } from '../documents/authority.ts'
import { type Arranged, nothingArranged } from '../faults/arranged.ts'
import type { KeptBusEvent } from '../faults/bus-events.ts'
import type { ProviderState } from './state.ts'
import { loadState, stateWriter } from './state-file.ts'

/** Default account and region of commands. */
export interface Home {
  account: string
  region: string
}

/** Everything that a handler may read or change. */
export interface ImitatedAws {
  readonly home: Home
  readonly state: ProviderState
  readonly arranged: Arranged
  /** Metadata services with their own port, by their path on the common port. */
  readonly metadataPorts: Map<string, Promise<Server>>
  /** Called for every event on a bus. */
  onBusEvent?: (event: KeptBusEvent) => void
  /** The provider's clock: milliseconds since 1970, shifted by `arranged.clockShiftMs`. */
  now(): number
  /** Must be called after each change of `state`. */
  changed(): void
  /** Resolves once every change of `state` is written. */
  saved(): Promise<void>
  /** The signer of identity documents, created at the first call. */
  authority(): Promise<Authority>
}

/**
 * Opens the imitated AWS of a state file, or a new one.
 * @param clock epoch milliseconds, before any shift
 * @throws Error if the state file exists and cannot be read
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
