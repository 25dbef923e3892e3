import { acceptedAnswer, answer, type Call, type CallOutcome } from '../api/call.ts'
import { type ChangeGroup, commitEachGroup, countGroupOutcomes } from '../jobs/commit-each.ts'
import { type JobResult, type JobRun, processEach } from '../jobs/job.ts'
import { type ScanPlace, scanAllItems, scanStartPlace } from '../jobs/scan.ts'
import { removeItem, removeItemIfUnchanged, removeItemUnlessChanged } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { areTokenAncestorsAlive, type TokenDependencies } from './descendants.ts'

/** Handles POST auth/token/tidy. */
export async function startTokenTidy(call: Call): Promise<CallOutcome> {
  await call.ports.background.start({ job: 'token-tidy', at: scanStartPlace, of: 'token' })
  return answer(acceptedAnswer('tidy was started; the log will show the removed items'))
}

export interface TokenTidyJob {
  /** the job scans tokens first, then the parent index */
  of: 'token' | 'child'
  at: ScanPlace
}

/**
 * Removes tokens that have lost an ancestor, and parent index entries without a child. Tokens that have lost an
 * ancestor are invalid anyway; DynamoDB deletes expired tokens. A token tidy run reads all tokens.
 * @throws at the end if some could not be removed, so that the last part is retried
 */
export async function tidyTokens(run: JobRun, job: TokenTidyJob): Promise<JobResult> {
  const [table] = await run.ports.store.read([key('mounts')])
  if (!table) return 'done'
  const dependencies: TokenDependencies = { ports: run.ports, mounts: table.data }
  const counts = { removed: 0, failed: 0 }
  /**
   * Removes from a page the items that `removal` selects. A page is always finished, even past the deadline, because otherwise a run
   * with slow pages would never progress.
   */
  const removing =
    <T>(removal: (item: T) => Promise<ChangeGroup | undefined>) =>
    async (page: T[]) => {
      const groups: ChangeGroup[] = []
      const looked = await processEach(page, async item => {
        const group = await removal(item)
        if (group) groups.push(group)
        return true
      })
      const { done, failed } = countGroupOutcomes(
        await commitEachGroup({ ...run, deadline: Number.POSITIVE_INFINITY }, groups),
      )
      counts.removed += done
      counts.failed += failed + looked.failed
      return true
    }
  const tokens = removing<Item<'token'>>(item => removalOfDead(item, dependencies))
  const pointers = removing<Item<'child'>>(item => removalOfLoose(item, dependencies))
  const left = job.of === 'token' ? await scanAllItems(run, 'token', job.at, tokens) : undefined
  const start = job.of === 'token' ? scanStartPlace : job.at
  const rest = left ? undefined : await scanAllItems(run, 'child', start, pointers)
  run.ports.log[counts.failed > 0 ? 'error' : 'info']('tokens tidied', counts)
  if (left) return { again: { of: 'token', at: left } }
  if (rest) return { again: { of: 'child', at: rest } }
  if (counts.failed > 0) throw new Error(`${counts.failed} tokens could not be tidied`)
  return 'done'
}

async function removalOfDead(
  item: Item<'token'>,
  dependencies: TokenDependencies,
): Promise<ChangeGroup | undefined> {
  const { parent } = item.data
  if (parent === undefined || (await areTokenAncestorsAlive(item.data, dependencies))) return undefined
  return [removeItemIfUnchanged(item), removeItem(key('child', parent, accessorIn(item.pk)))]
}

// An index entry is committed with its token, so it is stale if the token is gone or another token has its ID.
async function removalOfLoose(
  item: Item<'child'>,
  { ports }: TokenDependencies,
): Promise<ChangeGroup | undefined> {
  const [token] = await ports.store.read([key('token', item.sk)])
  return token?.data.parent === accessorIn(item.pk) ? undefined : [removeItemUnlessChanged(item)]
}

const accessorIn = (pk: string): string => pk.slice(pk.indexOf('#') + 1)
