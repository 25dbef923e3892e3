import type { Carry, CarryTo } from '../../wire/carry.ts'
import type { CarrierPorts } from './carrier.ts'

/** Carries calls to other clusters for functions that rarely make one. The carrier is loaded with the first call. */
export function createLazyCarrier(portsOf: () => CarrierPorts): CarryTo {
  let loaded: Promise<CarryTo> | undefined
  return to => {
    let carry: Carry | undefined
    return async (...call) => {
      loaded ??= import('./carrier.ts').then(({ createLinkCarrier }) => createLinkCarrier(portsOf()))
      carry ??= (await loaded)(to)
      return carry(...call)
    }
  }
}
