import { accepted, answer, type Call, type Outcome } from '../api/call.ts'
import { eachOf, hasTime, type JobResult, type JobRun } from '../jobs/job.ts'
import { erase } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { ancestorsLive } from './family.ts'

const SEGMENTS = 4

/** POST auth/token/tidy. */
export async function startTokenTidy(call: Call): Promise<Outcome> {
  await call.ports.background.start({ job: 'token-tidy', segment: 0 })
  return answer(accepted('the tidy was started; what it removed is in the log'))
}

/**
 * Removes tokens that have lost an ancestor, and pointers to children that are gone. Such tokens are dead in
 * any case; expired ones are removed by the engine. The cost is that of reading all tokens.
 */
export async function tidyTokens(run: JobRun, { segment }: { segment: number }): Promise<JobResult> {
  const { store, log } = run.ports
  let removed = 0
  for (let index = segment; index < SEGMENTS; index++) {
    for await (const page of store.scan('token', { index, of: SEGMENTS })) {
      const cluster = await run.cluster()
      if (!cluster) return 'done'
      const orphaned = page.filter(item => item.data.parent !== undefined)
      const { done } = await eachOf(orphaned, async item => {
        if (await ancestorsLive(item.data, run.ports)) return false
        const pointer = item.data.parent ? [erase(key('child', item.data.parent, accessorIn(item.pk)))] : []
        return (await store.commit([erase(item), ...pointer], cluster)) === 'done'
      })
      removed += done
      if (!hasTime(run)) return { again: { job: 'token-tidy', segment: index } }
    }
  }
  log.info('tokens tidied', { removed })
  return 'done'
}

const accessorIn = (pk: string): string => pk.slice(pk.indexOf('#') + 1)
