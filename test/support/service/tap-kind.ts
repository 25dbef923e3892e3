import { isAlone } from './running-file.ts'
import type { ServiceOptions } from './service.ts'

let connections = false

/** From now on taps of this file are reached over connections. */
export const reachOverConnections = (): void => {
  connections = true
}

/** Returns the kind of tap for the services of this file. */
export const tapKind = (): NonNullable<ServiceOptions['tap']> =>
  isAlone() && (connections ? 'connections' : true)
