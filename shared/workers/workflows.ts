import type { OperationName } from '../model/operation.ts'
import { CLOSING_WAIT_S } from '../replication/activation/closing.ts'
import { promotionSteps } from '../replication/promotion/step.ts'

/** A state machine that runs the steps of an operation in order. */
export interface WorkflowDefinition {
  summary: string
  /** the request that an execution started by hand, without an operation, waits for */
  authority: string
  /** names of steps that the worker `on-operation` runs, and waits between them */
  steps: readonly (string | { seconds: number })[]
}

/** The workflow that rehearses a planned switch and the way back. The worker `on-drill` runs its steps. */
export const DRILL_WORKFLOW_NAME = 'drill'

/** The error after which a step is not retried. */
export const FINAL_ERROR_NAME = 'OperationFailed'

/** All workflows, one line each. */
export const workflowDefinitions = {
  activation: {
    summary: 'makes this cluster the DR secondary of another',
    authority: 'POST sys/replication/dr/secondary/enable',
    steps: ['handshake', 'close', { seconds: CLOSING_WAIT_S }, 'wipe', 'sync', 'serve'],
  },
  'merkle-check': {
    summary: 'checks the tree of this cluster against its tables',
    authority: 'POST sys/replication/merkle-check',
    steps: ['check'],
  },
  reindex: {
    summary: 'rebuilds the tree of this cluster',
    authority: 'POST sys/replication/reindex',
    steps: ['build', 'compare'],
  },
  demotion: {
    summary: 'makes this DR primary a secondary without a primary',
    authority: 'POST sys/replication/dr/primary/demote',
    steps: ['close', 'finish'],
  },
  promotion: {
    summary: 'makes this DR secondary the primary of its set',
    authority: 'POST sys/replication/dr/secondary/promote',
    steps: promotionSteps,
  },
  'update-primary': {
    summary: 'makes this DR secondary follow another primary, or none',
    authority: 'POST sys/replication/dr/secondary/update-primary',
    steps: ['find', 'drain', 'adopt', 'finish'],
  },
  disable: {
    summary: 'makes this DR secondary leave its set and serve clients',
    authority: 'POST sys/replication/dr/secondary/disable',
    steps: ['find', 'drain', 'adopt', 'leave', 'forget', 'finish'],
  },
} as const satisfies Record<OperationName, WorkflowDefinition>
