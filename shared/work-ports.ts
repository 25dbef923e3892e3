/* Ports for work outside of requests: background jobs, workflows, the follower, and events. */

/** Starts work that continues after the request, in a Lambda of its own. */
export interface BackgroundJobs {
  start(job: Readonly<Record<string, unknown>>): Promise<void>
}

/**
 * Starts and signals the state machines of this cluster. The history of a state machine keeps inputs and answers
 * for 90 days, so these contain no secrets.
 */
export interface WorkflowStarter {
  /**
   * Starts an execution for an operation. If the operation has one already, nothing happens.
   * @param before number of earlier executions that ended without ending the operation; default: none
   * @returns whether the execution is running or has ended
   * @throws ApiError `busy` when it cannot be started now
   */
  start(workflow: string, operationId: string, before?: number): Promise<'runs' | 'ended'>
  /**
   * Sends the answer to the step that waits with a task token. The answer becomes the step's result.
   * @returns whether a step is still waiting
   */
  signal(token: string, answer: Readonly<Record<string, unknown>>): Promise<boolean>
}

/** Starts the follower, which fetches entries from the primary. A running one continues. */
export interface PullerWaker {
  wake(): Promise<void>
}

/**
 * An event for subscribers.
 * @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
export interface BusEvent {
  type: string
  /** RFC 3339 */
  time: string
  /** names and numbers, no secrets */
  detail: Readonly<Record<string, unknown>>
}

/** The default event bus of the account. */
export interface EventBus {
  /**
   * Sends all events. If `put` throws, some events may have been sent.
   * @throws ApiError `busy`
   */
  put(events: readonly BusEvent[]): Promise<void>
}
