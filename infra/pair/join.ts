import { classifyCluster } from '../../shared/set/condition.ts'
import { type Goal, waits } from '../../shared/set/plan.ts'
import { RunStopped, run, type SetCluster } from '../../shared/set/run.ts'
import { setClusterAt } from '../command/set/look.ts'
import { memberConnection, namedMember } from './ask.ts'
import type { MemberPlan, PairPlan } from './settings.ts'

/** What surrounds a joining. */
export interface Joining {
  say(text: string): void
  /** @returns what the operator typed */
  question(text: string): Promise<string>
  /** of an administrator of the primary, and of the cluster that joins */
  tokens: { primary: string; secondary: string }
  wait(ms: number): Promise<void>
}

/** A first sync takes as long as there is something to fetch. */
const FIRST_SYNC_MS = 60 * 60_000

const goal: Goal = {
  kind: 'join',
  primary: 'to',
  allowedActions: ['enable', 'admit'],
  waits: { ...waits, 'catching-up': FIRST_SYNC_MS },
}

/**
 * Has one cluster of a pair join the other as its DR secondary, after the operator has typed its name: what it had is
 * removed. Where that was broken off it goes on, and where nothing is left to do it says so.
 * @param name of the one that joins
 * @throws Error when either is not what it has to be, and when a request is refused
 */
export async function joinPair(pair: PairPlan, name: string, around: Joining): Promise<void> {
  const { say, question, tokens, wait } = around
  const secondary = pair.find(one => one.name === name)
  const primary = pair.find(one => one.name !== name)
  if (!secondary || !primary) throw new Error(`the pair has no cluster ${name}`)
  const clusterOf = (member: MemberPlan, token: string): SetCluster => ({
    ...setClusterAt(namedMember(member), { connection: memberConnection, token, say }),
    admittedAs: member.name,
    address: member.settings.linkAddress ?? member.address,
  })
  let isTyped = false
  let last = ''
  try {
    await run({
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
            `${name} (${secondary.address}) becomes the secondary of ${primary.name}. What ${name} has is removed.`,
          )
          const typed = await question(`Type the name of the cluster that loses what it has: `)
          if (typed.trim() !== name) throw new Error('nothing was changed: that is not its name')
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
