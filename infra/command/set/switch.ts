import { type Goal, type ObservedPair, type Side, type Step, waits } from '../../../shared/set/plan.ts'
import { RunStopped, run } from '../../../shared/set/run.ts'
import type { Connection } from '../connection.ts'
import { Ended } from '../ended.ts'
import { clock, type NamedCluster, setClusterAt } from './look.ts'
import { describedSet, shownSet } from './shown.ts'

/** What a switch needs of whoever runs it. */
export interface SwitchPorts {
  connection: Connection
  /** a DR operation token */
  token: string
  /** asks before a step; no: it ends there */
  confirm(question: string): Promise<boolean>
  say(text: string): void
  /** told where the set is, each time that it has been seen: for whoever breaks off */
  at(sentence: string): void
  /** told of each step that was done */
  did(step: SwitchDone): void
}

/** What a switch has done; `ms`: how long it took. */
export interface SwitchDone {
  step: 'promote' | 'follow'
  ms: number
}

const goal: Goal = { kind: 'switch', allowedActions: ['promote', 'follow'], waits }

/**
 * A planned switch, from wherever the set is to its end.
 * @throws Ended with where the set is
 * @see docs/runbooks/planned-switch.md
 */
export async function switchSet(
  clusters: Readonly<Record<Side, NamedCluster>>,
  ports: SwitchPorts,
): Promise<void> {
  const { token, say, confirm } = ports
  const { from, to } = clusters
  let last = ''
  const at = (step: Step, pair: ObservedPair): void => {
    const both = [pair.from, pair.to]
    if (last === '') say(`1. Look\n\n${describedSet(shownSet(both, [from, to], Date.now()))}`)
    if (last !== step.where && (step.do === 'wait' || step.do === 'done')) say(step.where)
    last = step.where
    ports.at(step.where)
  }
  try {
    await run({
      goal,
      clusters: { from: setClusterAt(from, ports), to: setClusterAt(to, ports) },
      onStep: at,
      clock,
      operationToken: async () => token,
      report: say,
      beforeStep: async (step, pair) => {
        for (const sentence of sentencesOf(step, pair)) say(sentence)
        if (!(await confirm('Go on?'))) throw new Ended('declined', 'Ended before the next step')
        ports.at(
          step.do === 'follow'
            ? `${to.name} serves; ${from.name} is being told to follow it.`
            : `${to.name} may be taking over from ${from.name}: that goes on without this command.`,
        )
      },
      afterStep: (step, ms) => ports.did({ step: step.do === 'follow' ? 'follow' : 'promote', ms }),
    })
  } catch (error) {
    if (error instanceof Ended) throw new Ended(error.exit, `${error.message}. ${last}`)
    throw error instanceof RunStopped ? new Ended(error.exit, error.message) : error
  }
}

/** What is said before a step, with the number that it has in the runbook. */
function sentencesOf(step: Step, { from, to }: ObservedPair): string[] {
  if (step.do === 'promote')
    return [
      step.resumed
        ? `2. Switch: ${step.where} ${to.name} is asked once more.`
        : `2. Switch: ${to.name} is ready. It takes over from ${from.name}; nothing is lost, and for some seconds nobody serves.`,
    ]
  return [
    `3. Send the clients: sys/health answers ${to.answer?.health} on ${to.name}, and ${from.answer?.health} on ${from.name}. Move the name that clients use, if they do not look themselves.`,
    `4. Follow: ${from.name} is given a token of ${to.name}; it has all data, and needs no wipe.`,
  ]
}
