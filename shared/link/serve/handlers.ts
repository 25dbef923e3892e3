import { findFrontier } from '../../journal/density.ts'
import { refreshTree } from '../../journal/refresh.ts'
import { wakePuller } from '../../journal/wake.ts'
import type { Method } from '../../wire/carry.ts'
import type { Reply } from '../methods.ts'
import { termNotYetAddedError } from '../refusals.ts'
import { activate } from './activate.ts'
import { fence } from './fence.ts'
import { handover } from './handover.ts'
import { serveHeartbeat } from './heartbeat.ts'
import { sealKeyring } from './keyring.ts'
import type { AskedCall, LinkPorts } from './ports.ts'
import { serveEntries, serveItems, serveScan, serveTree } from './reading.ts'

/**
 * The handler of each method.
 * @throws LinkRefused
 */
export const handlers: {
  readonly [M in Method]: (ports: LinkPorts, call: AskedCall<M>) => Promise<Reply<M>>
} = {
  Activate: activate,
  Heartbeat: serveHeartbeat,
  Entries: ({ journal }, { question }) => serveEntries(journal, question),
  Items: ({ journal }, { question }) => serveItems(journal, question),
  Scan: async ({ journal }, { question, head }) =>
    serveScan(journal, question, await findFrontier(journal, head)),
  Tree: async ({ journal }, { question, record, set, head, now }) => {
    const treeId = record.treeId ?? set
    // The caller compares with its own tree, so it needs current hashes.
    if (question.level === 'root') await refreshTree({ journal, treeId, head, now: Math.floor(now / 1000) })
    return serveTree(journal, question, treeId, now)
  },
  Keyring: async (ports, call) => {
    const exported = await sealKeyring(call, ports)
    if (exported.term < call.question.term) throw termNotYetAddedError(call.question.term)
    return exported
  },
  Handover: handover,
  Fence: fence,
  Notify: async (ports, call) => {
    await wakePuller(ports, call)
    return {}
  },
}
