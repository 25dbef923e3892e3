/* Ports for work beside the request: background jobs, workflows, the puller, and events for others. */

/** Work that outlives the request: runs in a Lambda of its own. */
export interface Background {
  start(job: Readonly<Record<string, unknown>>): Promise<void>
}

/** State machines of this cluster. What they are given and answered is kept in their history for 90 days: no secrets. */
export interface Workflows {
  /**
   * Starts one for an operation; for an operation that has one already, nothing happens.
   * @param before how many the operation has had that ended without ending it; default: none
   * @returns whether it runs, from now or from before, or has ended
   * @throws ApiError `busy` when it cannot be started now
   */
  start(workflow: string, operationId: string, before?: number): Promise<'runs' | 'ended'>
  /**
   * Answers the step that waits with a task token; the answer becomes its result.
   * @returns whether anybody waits with it still
   */
  signal(token: string, answer: Readonly<Record<string, unknown>>): Promise<boolean>
}

/** Starts the worker that fetches what the primary has; one that already runs goes on. */
export interface Waker {
  wake(): Promise<void>
}

/** An event for whoever listens. @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html */
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
   * Puts all of them, or says that it cannot: then some may have been put.
   * @throws ApiError `busy`
   */
  put(events: readonly BusEvent[]): Promise<void>
}
