/** A piece of work in an environment of its own: a request, a run of a worker, a step of a workflow. */
export interface Process {
  /** no two have the same */
  readonly id: number
  readonly cluster: string
  /** `api`, `link/<method>`, or the folder of a worker */
  readonly name: string
  /** nothing of it goes on: why */
  dead?: Error
  /** it stands still until this moment, epoch milliseconds */
  frozenUntil: number
}

/** A call to the tables, or of the link: what may go wrong goes wrong there. */
export interface Step {
  readonly process: Process
  /** `PutItem`, `TransactWriteItems`, `Journal entries to west` … */
  readonly what: string
}

/** A step of a process. */
export interface Spot {
  /** whose steps count; absent: everybody's */
  cluster?: string
  /** a name, or its part before the slash */
  process?: string
  /** what it asks for begins so */
  step?: string
  /** the how manieth step, 1: the next one */
  at: number
  /** before it is sent, or after it took effect */
  when: 'before' | 'after'
}

/** Something that happens to a process at one of its steps. */
export interface Trap extends Spot {
  /** it dies; it gets no answer; it stands still for so many milliseconds */
  does: 'dies' | 'loses' | number
  /** called with the step that it hit */
  struck?: (step: Step) => void
}

const isNamed = ({ name }: Process, wanted: string): boolean =>
  name === wanted || name.startsWith(`${wanted}/`)

/** Traps that are set. */
export function newTraps() {
  let traps: (Trap & { seen: number })[] = []

  function meets(trap: Trap & { seen: number }, { process, what }: Step): boolean {
    if (trap.cluster !== undefined && trap.cluster !== process.cluster) return false
    if (trap.process !== undefined && !isNamed(process, trap.process)) return false
    if (trap.step !== undefined && !what.startsWith(trap.step)) return false
    trap.seen += 1
    return trap.seen === trap.at
  }

  return {
    /** @returns how it is taken back */
    set: (trap: Trap): (() => void) => {
      const one = { ...trap, seen: 0 }
      traps.push(one)
      return () => {
        traps = traps.filter(other => other !== one)
      }
    },
    clear: (): void => {
      traps = []
    },
    /** what a step meets */
    met: (step: Step): readonly Trap[] => traps.filter(trap => meets(trap, step)),
  }
}
