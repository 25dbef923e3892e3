import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import { sendRoleEvents } from '../journal/send-role-events.ts'
import type { OperationName } from '../model/operation.ts'
import type { Ports } from '../ports.ts'
import { endActivation, giveUpActivation, runFirstSync } from '../replication/activation/first-sync.ts'
import { runHandshake } from '../replication/activation/handshake.ts'
import { stopServing, wipeClusterData } from '../replication/activation/wipe.ts'
import { checkTree } from '../replication/check/check-step.ts'
import { compareTrees } from '../replication/check/compare-step.ts'
import { reindexTreeStep } from '../replication/check/reindex-step.ts'
import { failTreeOperation } from '../replication/check/tree-run.ts'
import { closeOwnEpoch } from '../replication/demotion/close-epoch.ts'
import {
  failDisableOperation,
  forgetReplicationSet,
  leaveReplicationSet,
} from '../replication/disable/leave.ts'
import { createStepError, OperationFailed } from '../replication/operation/faults.ts'
import {
  endOperation,
  failOperation,
  type OperationEnd,
  type OperationRun,
  type OperationStep,
  type OperationStepResult,
  STEP_DONE,
} from '../replication/operation/run.ts'
import { noteWaitingExecution } from '../replication/operation/waiting.ts'
import { drainJournal } from '../replication/promotion/drain.ts'
import { requestPlannedHandover } from '../replication/promotion/handover.ts'
import { beginServingAsPrimary, giveUpPromotion, openOwnEpoch } from '../replication/promotion/serve.ts'
import type { PromotionStep } from '../replication/promotion/step.ts'
import { takeOverAsPrimary } from '../replication/promotion/take-over.ts'
import { verifyPromotion } from '../replication/promotion/verify.ts'
import type { ConnectToPeer } from '../replication/secondary/connect.ts'
import { adoptNewPrimary, finishPrimaryUpdate, keepOldPrimary } from '../replication/update-primary/adopt.ts'
import { changePrimaryLink } from '../replication/update-primary/change-link.ts'
import { findPrimary } from '../replication/update-primary/find.ts'
import { defined } from '../values/defined.ts'
import { logStepFailure } from './log-failure.ts'

interface Operation {
  readonly steps: Readonly<Record<string, OperationStep>>
  /** called when a step fails permanently */
  readonly failed: OperationEnd
}

/** The steps of each operation. `workflows` defines their order and the waits between them. */
export const operationWorkflows = {
  activation: {
    steps: {
      handshake: runHandshake,
      close: stopServing,
      wipe: wipeClusterData,
      sync: runFirstSync,
      serve: endActivation,
    },
    failed: giveUpActivation,
  },
  demotion: { steps: { close: closeOwnEpoch, finish: endOperation }, failed: failOperation },
  'merkle-check': { steps: { check: checkTree }, failed: failTreeOperation },
  reindex: { steps: { build: reindexTreeStep, compare: compareTrees }, failed: failTreeOperation },
  promotion: {
    steps: {
      verify: verifyPromotion,
      handover: requestPlannedHandover,
      drain: drainJournal,
      claim: takeOverAsPrimary,
      open: openOwnEpoch,
      serve: beginServingAsPrimary,
    } satisfies Record<PromotionStep, OperationStep>,
    failed: giveUpPromotion,
  },
  // a secondary stops following its primary before it leaves its set, as in `update-primary`
  disable: {
    steps: {
      find: findPrimary,
      drain: changePrimaryLink,
      adopt: adoptNewPrimary,
      leave: leaveReplicationSet,
      forget: forgetReplicationSet,
      finish: endOperation,
    },
    failed: failDisableOperation,
  },
  'update-primary': {
    steps: {
      find: findPrimary,
      drain: changePrimaryLink,
      adopt: adoptNewPrimary,
      finish: finishPrimaryUpdate,
    },
    failed: keepOldPrimary,
  },
} satisfies Record<OperationName, Operation>

const order = v.object({
  workflow: v.picklist(Object.keys(operationWorkflows) as OperationName[]),
  operation: v.pipe(v.string(), v.nonEmpty()),
  step: v.string(),
  at: v.optional(v.string(), ''),
  error: v.optional(v.string(), ''),
  cause: v.optional(v.string(), ''),
})

/** The input of an execution that was started by hand and waits for a request. */
const wait = v.object({
  workflow: order.entries.workflow,
  step: v.literal('wait'),
  token: v.pipe(v.string(), v.nonEmpty()),
  options: v.optional(v.record(v.string(), v.unknown()), {}),
})

/** Milliseconds reserved to finish the current work. */
const STEP_REST_MS = 5000

/**
 * Returns the handler of `on-operation`: it runs the step that a workflow names.
 * @returns whether the next step follows, or the same one is repeated
 */
export const createOperationHandler =
  (ports: Ports, connect: ConnectToPeer) =>
  async (event: unknown, context: Context): Promise<OperationStepResult> => {
    const waiting = v.safeParse(wait, event)
    if (waiting.success) {
      await noteWaitingExecution(waiting.output.workflow, waiting.output, ports)
      return STEP_DONE
    }
    const { workflow, operation, step, at, ...error } = v.parse(order, event)
    const { steps, failed }: Operation = operationWorkflows[workflow]
    const deadline = ports.clock.now() + context.getRemainingTimeInMillis() - STEP_REST_MS
    const run = { ports, connect, deadline }
    if (step === 'failed') return recordFailure(failed, run, operation, createStepError(at, error))
    const work = steps[step]
    if (!work) throw new Error(`the workflow ${workflow} has no step ${step}`)
    const { value: result, calls } = await ports.meter.measure(() =>
      work(run, operation).catch(async (cause: unknown) => {
        logStepFailure(ports, { workflow, operation, step }, cause, cause instanceof OperationFailed)
        // only a final failure is stored here, with its text; after any other the state machine calls the step `failed`
        if (cause instanceof OperationFailed) await recordFailure(failed, run, operation, cause)
        throw cause
      }),
    )
    // an event that cannot be sent now is sent within a minute
    await sendRoleEvents(ports).catch(() => undefined)
    ports.log.info('step', { workflow, operation, step, result: result.next, calls })
    return result
  }

async function recordFailure(
  failed: OperationEnd,
  run: OperationRun,
  operation: string,
  { code, message: text, detail, retryAfter }: OperationFailed,
): Promise<OperationStepResult> {
  const { next } = await failed(run, operation, defined({ code, text, detail, retryAfter }))
  if (next === 'again') throw new Error('the operation was changed meanwhile')
  return { next }
}
