import {
  type ObservedPair,
  type PairSide,
  type SetGoal,
  type SetStep,
  WAIT_LIMITS_MS,
} from '../../../shared/set/plan.ts'
import { RunStopped, runUntilGoal, type SetRunInput } from '../../../shared/set/run.ts'
import type { ApiConnection } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { createSetCluster, type NamedCluster, systemSetClock } from './look.ts'
import { formatSet, summariseSet } from './shown.ts'
import { announceLossyTakeOver, hintOfLossyTakeOver } from './take-over.ts'

/** Ports of a planned switch between two clusters. */
export interface SwitchPorts {
  connection: ApiConnection
  /** a DR operation token */
  token: string
  /** name of the cluster that may take over although writes may be lost; absent: only a planned switch */
  acceptLoss?: string | undefined
  /** asks the operator before a step; false ends the switch before the step */
  confirm(question: string): Promise<boolean>
  say(text: string): void
  progress: SwitchProgress
}

/** The progress of a switch, for the result and for messages on an interruption. */
export interface SwitchProgress {
  /** completed steps; `ms` is the duration of a step */
  done: { step: 'promote' | 'follow'; ms: number }[]
  /** the state of the set, in a sentence */
  where: string
}

const planned: SetGoal = { kind: 'switch', allowedActions: ['promote', 'follow'], waits: WAIT_LIMITS_MS }
const lossy: SetGoal = { kind: 'takeOver', allowedActions: ['force', 'follow'], waits: WAIT_LIMITS_MS }

/**
 * Performs a planned switch from any state of the set. With `acceptLoss`, one cluster takes over without a handover.
 * @throws CommandEnded with the state of the set
 * @see docs/runbooks/planned-switch.md
 */
export async function switchPrimaryOfSet(
  clusters: Readonly<Record<PairSide, NamedCluster>>,
  ports: SwitchPorts,
): Promise<void> {
  const { token, acceptLoss, say, confirm, progress } = ports
  const { from, to } = clusters
  if (acceptLoss !== undefined && acceptLoss !== to.name)
    throw new CommandEnded('usage', `--accept-loss must name the cluster that takes over: ${to.name}`)
  const goal = acceptLoss === undefined ? planned : lossy
  let last = ''
  let seen: ObservedPair | undefined
  const at = (step: SetStep, pair: ObservedPair): void => {
    seen = pair
    const both = [pair.from, pair.to]
    if (last === '') say(`1. Look\n\n${formatSet(summariseSet(both, [from, to], Date.now()))}`)
    if (last !== step.where && (step.do === 'wait' || step.do === 'done')) say(step.where)
    last = step.where
    progress.where = step.where
  }
  try {
    const run: SetRunInput = {
      goal,
      clusters: { from: createSetCluster(from, ports), to: createSetCluster(to, ports) },
      onStep: at,
      clock: systemSetClock,
      operationToken: async () => token,
      report: say,
      beforeStep: async (step, pair) => {
        const isLossy = step.do === 'promote' && step.force
        const sentences = isLossy ? await announceLossyTakeOver(pair, to, ports) : describeStep(step, pair)
        for (const sentence of sentences) say(sentence)
        if (!(await confirm('Go on?'))) throw new CommandEnded('declined', 'Stopped before the next step')
        progress.where =
          step.do === 'follow'
            ? `${to.name} serves; ${from.name} is being made a secondary of ${to.name}.`
            : `${to.name} may be taking over from ${from.name}; the takeover continues without this command.`
      },
      afterStep: (step, ms) =>
        void progress.done.push({ step: step.do === 'follow' ? 'follow' : 'promote', ms }),
    }
    await runUntilGoal(run, acceptLoss === undefined ? 'settle' : 'promote')
    if (acceptLoss !== undefined)
      say(`${to.name} serves. As soon as ${from.name} answers, run the switch again without --accept-loss.`)
  } catch (error) {
    if (error instanceof CommandEnded) throw new CommandEnded(error.exit, `${error.message}. ${last}`)
    if (!(error instanceof RunStopped)) throw error
    const hint = acceptLoss === undefined && seen ? hintOfLossyTakeOver(seen) : ''
    throw new CommandEnded(error.exit, `${error.message}${hint}`)
  }
}

/** Describes a step of the switch, with its number in the runbook. */
function describeStep(step: SetStep, { from, to }: ObservedPair): string[] {
  if (step.do === 'promote')
    return [
      step.resumed
        ? `2. Switch: ${step.where} The promotion of ${to.name} is requested again.`
        : `2. Switch: ${to.name} is ready. It takes over from ${from.name}; nothing is lost, and for some seconds no cluster serves.`,
    ]
  return [
    `3. Send the clients: sys/health answers ${to.answer?.health} on ${to.name}, and ${from.answer?.health} on ${from.name}. Point the name that clients use to ${to.name}, unless they find the serving cluster themselves.`,
    `4. Follow: ${from.name} gets a token from ${to.name} and follows ${to.name}. ${from.name} keeps its data.`,
  ]
}
