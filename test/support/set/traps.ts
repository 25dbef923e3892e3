/** A simulated process: a request, a run of a worker, or a step of a workflow, in its own environment. */
export interface Process {
  /** unique number of the process */
  readonly id: number
  readonly cluster: string
  /** `api`, `link/<method>`, or the folder of a worker */
  readonly name: string
  /** reason why the process died; set: no part of the process continues */
  dead?: Error
  /** the process pauses until this time, in epoch milliseconds */
  frozenUntil: number
}

/** A call to the tables or of the link, at which faults happen. */
export interface Step {
  readonly process: Process
  /** `PutItem`, `TransactWriteItems`, `Journal entries to west` … */
  readonly what: string
}

/** A step of a process at which a trap applies. */
export interface Spot {
  /** cluster whose processes count; absent: all clusters */
  cluster?: string
  /** name of a process, or the part before its slash */
  process?: string
  /** beginning of the step's text `what` */
  step?: string
  /** number of the step; 1: the next step */
  at: number
  /** before the call is sent, or after the call took effect */
  when: 'before' | 'after'
}

/** A fault at a step of a process. */
export interface Trap extends Spot {
  /** the process dies; the process gets no answer; the process pauses for some milliseconds */
  does: 'dies' | 'loses' | number
  /** called with the step that the trap hit */
  struck?: (step: Step) => void
}

const isNamed = ({ name }: Process, wanted: string): boolean =>
  name === wanted || name.startsWith(`${wanted}/`)

/** Holds the traps that a test has set. */
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
    /** @returns a function that removes the trap */
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
    /** returns the traps that a step meets */
    met: (step: Step): readonly Trap[] => traps.filter(trap => meets(trap, step)),
  }
}
