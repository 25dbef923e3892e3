/**
 * The error of a process that dies at a call. The memory of the process is gone, and its last request may
 * have taken effect.
 */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/**
 * Counts calls of ports, and lets the process die at one of them. Every later call fails too, because the
 * process is dead.
 */
export function crashes(at: number, when: 'before' | 'after') {
  let calls = 0
  const guarded =
    (work: (...given: never[]) => unknown) =>
    async (...given: never[]): Promise<unknown> => {
      calls += 1
      const mine = calls
      if (mine > at || (mine === at && when === 'before')) throw new Crash(`call ${mine}`)
      const result = await work(...given)
      if (mine >= at) throw new Crash(`call ${mine}`)
      return result
    }
  /** Wraps a port so that its calls count. */
  const watched = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const member = Reflect.get(target, name) as unknown
        return typeof member === 'function' ? guarded(member as never) : member
      },
    })
  return { watched, calls: () => calls }
}
