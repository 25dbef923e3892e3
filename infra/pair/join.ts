import { classifyCluster } from '../../shared/set/condition.ts'
import { type SetGoal, WAIT_LIMITS_MS } from '../../shared/set/plan.ts'
import { RunStopped, runUntilGoal, type SetCluster } from '../../shared/set/run.ts'
import { createSetCluster } from '../command/set/look.ts'
import { memberConnection, toNamedCluster } from './ask.ts'
import type { MemberPlan, PairPlan } from './settings.ts'

/** Ports of a join. */
export interface PairJoinPorts {
  say(text: string): void
  /** @returns the operator's answer */
  question(text: string): Promise<string>
  /** tokens of an administrator of the primary and of the joining cluster */
  tokens: { primary: string; secondary: string }
  wait(ms: number): Promise<void>
}

/** Time limit of the first sync in milliseconds. The first sync takes longer with more data. */
const FIRST_SYNC_MS = 60 * 60_000

const goal: SetGoal = {
  kind: 'join',
  primary: 'to',
  allowedActions: ['enable', 'admit'],
  waits: { ...WAIT_LIMITS_MS, 'catching-up': FIRST_SYNC_MS },
}

/**
 * Makes one cluster of a pair the DR secondary of the other cluster, after the operator has typed the
 * secondary's name, because the secondary's data is deleted. Resumes an interrupted join, and does nothing if
 * the cluster follows already.
 * @param name the joining cluster
 * @throws Error if a cluster is not in the required state, or refuses a request
 */
export async function joinPair(pair: PairPlan, name: string, around: PairJoinPorts): Promise<void> {
  const { say, question, tokens, wait } = around
  const secondary = pair.find(one => one.name === name)
  const primary = pair.find(one => one.name !== name)
  if (!secondary || !primary) throw new Error(`the pair has no cluster ${name}`)
  const clusterOf = (member: MemberPlan, token: string): SetCluster => ({
    ...createSetCluster(toNamedCluster(member), { connection: memberConnection, token, say }),
    admittedAs: member.name,
    address: member.settings.linkAddress ?? member.address,
  })
  let isTyped = false
  let last = ''
  try {
    await runUntilGoal({
      goal,
      clusters: { from: clusterOf(secondary, tokens.secondary), to: clusterOf(primary, tokens.primary) },
      trust: secondary.settings.caBundles === undefined ? {} : { ca_path: '.' },
      clock: { now: Date.now, sleep: wait },
      onStep: step => {
        if (step.do === 'wait' && step.what !== last) say(`waiting until ${step.what}`)
        last = step.do === 'wait' ? step.what : ''
      },
      beforeStep: async (_, { from, to }) => {
        for (const one of [from, to])
          if (classifyCluster(one).state === 'uninitialised')
            throw new Error(`nothing was changed: ${one.name} is not initialised`)
        if (!isTyped) {
          say(
            `${name} (${secondary.address}) becomes the secondary of ${primary.name}. All data of ${name} will be deleted.`,
          )
          const typed = await question(`Type the name of the cluster whose data will be deleted: `)
          if (typed.trim() !== name) throw new Error('nothing was changed: the typed name does not match')
        }
        isTyped = true
      },
    })
  } catch (error) {
    if (!(error instanceof RunStopped)) throw error
    throw new Error(`${isTyped ? '' : 'nothing was changed: '}${error.message}`)
  }
  say(`${name} follows ${primary.name}`)
}
