import type { CarryLinkCall, CreateLinkCarrier } from '../../wire/carry.ts'
import type { CarrierPorts } from './carrier.ts'

/**
 * Carries calls to other clusters for functions that rarely make such a call. The function loads the carrier with
 * the first call.
 */
export function createLazyCarrier(portsOf: () => CarrierPorts): CreateLinkCarrier {
  let loaded: Promise<CreateLinkCarrier> | undefined
  return to => {
    let carry: CarryLinkCall | undefined
    return async (...call) => {
      loaded ??= import('./carrier.ts').then(({ createLinkCarrier }) => createLinkCarrier(portsOf()))
      carry ??= (await loaded)(to)
      return carry(...call)
    }
  }
}
