import { accepted, answer, type Call, type Outcome } from '../api/call.ts'
import { eachOf, hasTime, type JobResult, type JobRun } from '../jobs/job.ts'
import { type Change, erase } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { type Around, ancestorsLive } from './family.ts'

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
  const [table] = await store.read([key('mounts')])
  if (!table) return 'done'
  const around: Around = { ports: run.ports, mounts: table.data }
  let removed = 0
  for (let index = segment; index < SEGMENTS; index++) {
    for await (const page of store.scan('token', { index, of: SEGMENTS }))
      removed += (await eachOf(page, item => removedDead(run, item, around))).done
    for await (const page of store.scan('child', { index, of: SEGMENTS }))
      removed += (await eachOf(page, item => removedLoose(run, item))).done
    if (!hasTime(run)) return { again: { job: 'token-tidy', segment: index + 1 } }
  }
  log.info('tokens tidied', { removed })
  return 'done'
}

async function removedDead(run: JobRun, item: Item<'token'>, around: Around): Promise<boolean> {
  const { parent } = item.data
  if (parent === undefined || (await ancestorsLive(item.data, around))) return false
  return commits(run, [erase(item), erase(key('child', parent, accessorIn(item.pk)))])
}

// A pointer is written together with its token: where the token is not, it has been.
async function removedLoose(run: JobRun, item: Item<'child'>): Promise<boolean> {
  const [token] = await run.ports.store.read([key('token', item.sk)])
  return token === undefined && commits(run, [erase(item)])
}

async function commits(run: JobRun, changes: readonly Change[]): Promise<boolean> {
  const cluster = await run.cluster()
  return cluster !== undefined && (await run.ports.store.commit(changes, cluster)) === 'done'
}

const accessorIn = (pk: string): string => pk.slice(pk.indexOf('#') + 1)
