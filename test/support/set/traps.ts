/** A piece of work in its own environment: a request, a run of a worker, a step of a workflow. */
export interface Process {
  /** no two have the same */
  readonly id: number
  readonly cluster: string
  /** `api`, `link/<method>`, or the folder of a worker */
  readonly name: string
  /** reason why it stopped; set: nothing of it continues */
  dead?: Error
  /** it pauses until this time, in epoch milliseconds */
  frozenUntil: number
}

/** A call to the tables or of the link, where faults happen. */
export interface Step {
  readonly process: Process
  /** `PutItem`, `TransactWriteItems`, `Journal entries to west` … */
  readonly what: string
}

/** A step of a process. */
export interface Spot {
  /** process whose steps count; absent: all */
  cluster?: string
  /** a name, or its part before the slash */
  process?: string
  /** beginning of the text that it asks for */
  step?: string
  /** number of the step; 1: the next one */
  at: number
  /** before it is sent, or after it took effect */
  when: 'before' | 'after'
}

/** A fault at a step of a process. */
export interface Trap extends Spot {
  /** it dies; it gets no answer; it pauses for some milliseconds */
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
    /** the fault at a step */
    met: (step: Step): readonly Trap[] => traps.filter(trap => meets(trap, step)),
  }
}
