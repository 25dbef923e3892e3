import type { AnswerLinkCall } from '../../../shared/link/routes.ts'
import { type CreateLinkCarrier, FrontAnswered } from '../../../shared/wire/carry.ts'
import type { Answer } from '../../../shared/wire/gen/link_pb.ts'
import type { Simulation } from './simulation.ts'

type Simulated = Pick<Simulation, 'step' | 'run' | 'within' | 'enginePause'>

/**
 * The way in which a cluster answers calls of the link: `late` milliseconds late, never, or `late`
 * milliseconds late with the answer `front` of its front end.
 */
export type Manner = { late: number } | 'never' | { front: string; late: number }

/** A call of the link. */
export interface LinkStep {
  from: string
  to: string
  method: string
  /** true if the caller received an answer or a refusal */
  heard: boolean
}

/** The network between the clusters of a set. An address is `https://<name>.test`. */
export function network({ step, run, within, enginePause }: Simulated) {
  const served = new Map<string, { name: string; answering: AnswerLinkCall }>()
  /** `from>to`: a cut direction */
  const cut = new Set<string>()
  const { answeredIn, manners } = mannered(enginePause)
  const calls: LinkStep[] = []

  async function carried(
    from: string,
    address: string,
    [method, call, timeoutMs]: Parameters<ReturnType<CreateLinkCarrier>>,
  ): ReturnType<ReturnType<CreateLinkCarrier>> {
    const { name: to, answering } = served.get(address) ?? {}
    const seen: LinkStep = { from, to: to ?? address, method, heard: false }
    calls.push(seen)
    const answer = await step(`${method} to ${seen.to}`, async () => {
      if (!to || !answering || cut.has(`${from}>${to}`)) throw new Error(`${address} is not reached`)
      const work = () => run(to, `link/${method}`, () => answering(method, call, address))
      const said = await within(timeoutMs, method, answeredIn(to, work)).catch((cause: unknown) => {
        if (cause instanceof FrontAnswered) throw cause
        throw new Error(`the connection to ${address} broke`, { cause })
      })
      if (cut.has(`${to}>${from}`)) throw new Error(`the answer of ${address} was lost`)
      return said
    })
    seen.heard = true
    return answer
  }

  return {
    calls,
    /** makes a cluster answer at its address */
    join: (name: string, answering: AnswerLinkCall) => void served.set(addressFor(name), { name, answering }),
    /** carries the link calls of a cluster */
    carryFrom:
      (from: string): CreateLinkCarrier =>
      ({ addresses }) =>
      async (...given) => {
        const faults: unknown[] = []
        let answered = false
        for (const address of addresses)
          try {
            return await carried(from, address, given)
          } catch (error) {
            faults.push(error instanceof Error ? error.message : error)
            answered ||= error instanceof FrontAnswered
          }
        if (answered) throw new FrontAnswered(faults.join('; '))
        throw new Error(faults.length > 0 ? faults.join('; ') : 'no address of the other cluster is known')
      },
    /**
     * cuts one direction between two clusters; a call needs both directions, for its request and its answer
     */
    cutWay: (from: string, to: string) => void cut.add(`${from}>${to}`),
    healWay: (from: string, to: string) => void cut.delete(`${from}>${to}`),
    /** sets the way in which a cluster answers; absent: at once and by its own Lambda */
    answersSo: (name: string, manner?: Manner): void => {
      if (manner === undefined) manners.delete(name)
      else manners.set(name, manner)
    },
    healAll: () => {
      cut.clear()
      manners.clear()
    },
    isCut: (a: string, b: string) => cut.has(`${a}>${b}`) || cut.has(`${b}>${a}`),
  }
}

function mannered(pause: (ms: number) => Promise<void>) {
  const manners = new Map<string, Manner>()
  async function answeredIn(name: string, work: () => Promise<Answer>): Promise<Answer> {
    const manner = manners.get(name)
    if (manner === 'never') return new Promise(() => undefined)
    const front = manner && 'front' in manner ? manner.front : undefined
    const said = front === undefined ? await work() : undefined
    if (manner) await pause(manner.late)
    if (said) return said
    throw new FrontAnswered(front)
  }
  return { manners, answeredIn }
}

export const addressFor = (name: string): string => `https://${name}.test`
