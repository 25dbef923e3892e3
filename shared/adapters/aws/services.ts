import type { Clock, Meter } from '../../ports.ts'
import type { Background, EventBus, Waker, Workflows } from '../../work-ports.ts'
import { lambdaBackground, lambdaPuller } from './background.ts'
import type { Environment } from './environment.ts'
import { eventBridge } from './event-bus.ts'
import { stepFunctions } from './workflows.ts'

/** What a cluster has run, and tells, in its own account. */
export interface Services {
  background: Background
  puller: Waker
  workflows: Workflows
  events: EventBus
}

export const services = (dependencies: {
  environment: Environment
  clock: Clock
  meter: Meter
}): Services => {
  const { environment, meter } = dependencies
  return {
    background: lambdaBackground(environment.workerFunction, meter),
    puller: lambdaPuller(environment.pullFunction, meter),
    workflows: stepFunctions(environment.workflows, meter),
    events: eventBridge(dependencies),
  }
}
