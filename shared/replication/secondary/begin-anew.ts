import { removeIfUnchanged } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { haveFetched } from '../sync/have-fetched.ts'
import { divergingOf, placesOf } from './diverging.ts'
import type { Follower } from './follower.ts'

/** What has stopped a link is forgotten; what was given up is fetched once more, and then has to be as cells say again. */
export async function beginAnew(
  { own, cluster, treeId, linkName }: Pick<Follower, 'own' | 'cluster' | 'treeId' | 'linkName'>,
  recovery: Item<'recovery'>,
): Promise<void> {
  const [[found], read] = await Promise.all([own.store.read([key('diverging')]), cluster()])
  if (!read) return
  const places = placesOf(divergingOf(found, { treeId, link: linkName }))
  // a sync that is under way, or due, comes to the same
  if (places.length > 0) await haveFetched(own, read, places)
  const forgotten = found ? [removeIfUnchanged(found)] : []
  await own.store.commit([removeIfUnchanged(recovery), ...forgotten], read)
}
