import { findDenseFrontier } from '../../journal/density.ts'
import { refreshTreeHashes } from '../../journal/refresh.ts'
import { wakePuller } from '../../journal/wake.ts'
import type { LinkMethod } from '../../wire/carry.ts'
import type { MethodReply } from '../methods.ts'
import { termNotYetAddedError } from '../refusals.ts'
import { serveActivate } from './activate.ts'
import { serveFence } from './fence.ts'
import { serveHandover } from './handover.ts'
import { serveHeartbeat } from './heartbeat.ts'
import { sealKeyring } from './keyring.ts'
import type { AdmittedMethodCall, LinkServerPorts } from './ports.ts'
import { serveItems, serveJournalEntries, serveTableScan, serveTreeHashes } from './reading.ts'

/**
 * The handler of each link method.
 * @throws LinkRefused
 */
export const linkMethodHandlers: {
  readonly [M in LinkMethod]: (ports: LinkServerPorts, call: AdmittedMethodCall<M>) => Promise<MethodReply<M>>
} = {
  Activate: serveActivate,
  Heartbeat: serveHeartbeat,
  Entries: ({ journal }, { question }) => serveJournalEntries(journal, question),
  Items: ({ journal }, { question }) => serveItems(journal, question),
  Scan: async ({ journal }, { question, head }) =>
    serveTableScan(journal, question, await findDenseFrontier(journal, head)),
  Tree: async ({ journal }, { question, record, set, head, now }) => {
    const treeId = record.treeId ?? set
    // The caller compares the hashes with its own tree, so it needs current hashes.
    if (question.level === 'root')
      await refreshTreeHashes({ journal, treeId, head, now: Math.floor(now / 1000) })
    return serveTreeHashes(journal, question, treeId, now)
  },
  Keyring: async (ports, call) => {
    const exported = await sealKeyring(call, ports)
    if (exported.term < call.question.term) throw termNotYetAddedError(call.question.term)
    return exported
  },
  Handover: serveHandover,
  Fence: serveFence,
  Notify: async (ports, call) => {
    await wakePuller(ports, call)
    return {}
  },
}
