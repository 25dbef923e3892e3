import { isAlone } from './running-file.ts'
import type { ServiceOptions } from './service.ts'

let connections = false

/** Lets further storage taps of this test file be reached over connections. */
export const reachOverConnections = (): void => {
  connections = true
}

/** Returns the kind of storage tap for the services of this test file. */
export const tapKind = (): NonNullable<ServiceOptions['tap']> =>
  isAlone() && (connections ? 'connections' : true)
