import type { Ports } from '../../shared/ports.ts'

/**
 * A method of a port in tests: it takes the same parameters or fewer, and returns the value that the test
 * wants.
 */
type Method<A extends unknown[]> = { of(...given: A): unknown }['of']

/** The members of a port that the code under test touches. */
type Part<P> = { [M in keyof P]?: P[M] extends (...given: infer A) => unknown ? Method<A> : unknown }

type GivenPorts = { [P in keyof Ports]?: Part<Ports[P]> }

/** Returns ports of which a test gives some. Using any other port throws an error with the port's name. */
export const portsWith = (given: GivenPorts): Ports =>
  new Proxy(given as Ports, {
    get: (ports, name) =>
      name in ports || typeof name === 'symbol' || name === 'then' ? Reflect.get(ports, name) : unused(name),
  })

/** Returns a port that code may pass on, but not use. */
const unused = (port: string): object =>
  new Proxy(
    {},
    {
      get: (_, member) => {
        throw new Error(`the code under test uses ${port}.${String(member)}: the test gives no port ${port}`)
      },
    },
  )
