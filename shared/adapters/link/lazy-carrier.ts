import type { AddressRules } from '../../values/member-address.ts'
import type { Carry, CarryTo } from '../../wire/carry.ts'

/** Carries calls to other clusters for functions that hardly ever make one: what does it is loaded with the first. */
export function lazyCarrier(deploymentOf: () => AddressRules): CarryTo {
  let loaded: Promise<CarryTo> | undefined
  return to => {
    let carry: Carry | undefined
    return async (...call) => {
      loaded ??= import('./carrier.ts').then(({ linkCarrier }) => linkCarrier({ deployment: deploymentOf() }))
      carry ??= (await loaded)(to)
      return carry(...call)
    }
  }
}
