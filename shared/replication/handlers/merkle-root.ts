import { answer, type Call, data, type Outcome } from '../../api/call.ts'
import { refreshTree } from '../../journal/refresh.ts'
import { treeNotBuilt } from '../operation/refusals.ts'
import { rootFacts } from '../status/look.ts'
import { shownRoot } from '../status/status.ts'
import { treeIdOf } from './tree.ts'

/** Milliseconds for which a root is not computed again, whoever asks. */
const ROOT_FRESH_MS = 60_000

/** POST sys/replication/merkle-root: computes the root for the last position, unless the stored one is less than a minute old. */
export async function computeMerkleRoot(call: Call): Promise<Outcome> {
  const { journal, journalView } = call.ports
  const treeId = treeIdOf(call)
  const { head, roots } = await journalView.look(treeId)
  if (head && call.now - (roots?.whole?.at ?? 0) >= ROOT_FRESH_MS)
    await refreshTree({
      journal,
      treeId,
      head,
      now: Math.floor(call.now / 1000),
    })
  const facts = rootFacts((await journalView.look(treeId)).roots)
  if (facts.root === '') throw treeNotBuilt()
  return answer(data(shownRoot(facts)))
}
