/** A state machine that runs the steps of an operation one after the other. */
export interface Workflow {
  summary: string
  /** what the worker `on-operation` does, by name, and waits between */
  steps: readonly (string | { seconds: number })[]
}

/** What a step answers: whether the next one follows, or the same is done again. */
export interface StepResult {
  next: 'done' | 'again'
}

/** The error after which a step is not tried again. */
export const FINAL = 'OperationFailed'

/** One line per workflow. */
export const workflows = {} as const satisfies Record<string, Workflow>
