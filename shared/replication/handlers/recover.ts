import { type Call, nothing, type Outcome } from '../../api/call.ts'
import { primaryOf } from '../../model/cluster.ts'
import { put } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { notInASet } from '../operation/refusals.ts'

/**
 * POST sys/replication/recover, and sys/replication/dr/secondary/recover by an operation token: a secondary that has
 * stopped, because its syncs came to nothing, begins again with its next run.
 */
export function recoverLink({ ports, now, ...call }: Call): Outcome {
  const { record } = call.cluster
  if (record.mode === 'disabled') throw notInASet()
  if (record.mode === 'primary') return { answer: nothing([IS_PRIMARY]) }
  if (!primaryOf(record)) return { answer: nothing([ALONE]) }
  return {
    answer: nothing([AGAIN]),
    changes: [put(key('recovery'), { at: now })],
    // else it begins within a minute
    afterwards: () => ports.puller.wake(),
  }
}

const AGAIN = 'the link to the primary begins anew; GET sys/replication/dr/status shows its progress'
const ALONE =
  'this cluster follows nobody, so it has nothing to fetch again; give it the token of a primary by POST sys/replication/dr/secondary/update-primary'
const IS_PRIMARY =
  'this cluster is a primary: it follows nobody, and its journal is maintained every minute; nothing has been done'
