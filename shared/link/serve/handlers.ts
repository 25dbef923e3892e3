import { denseUpTo } from '../../journal/density.ts'
import { wakePuller } from '../../journal/wake.ts'
import type { Method } from '../../wire/carry.ts'
import type { Reply } from '../methods.ts'
import { termToCome } from '../refusals.ts'
import { activate } from './activate.ts'
import { echo } from './echo.ts'
import { fence } from './fence.ts'
import { handover } from './handover.ts'
import { sealedKeyring } from './keyring.ts'
import type { AskedCall, LinkPorts } from './ports.ts'
import { cells, items, scan, tree } from './reading.ts'

/** How each method is answered. @throws LinkRefused */
export const handlers: {
  readonly [M in Method]: (ports: LinkPorts, call: AskedCall<M>) => Promise<Reply<M>>
} = {
  Activate: activate,
  Echo: echo,
  Cells: ({ journal }, { question }) => cells(journal, question),
  Items: ({ journal }, { question }) => items(journal, question),
  Scan: async ({ journal }, { question, head }) => scan(journal, question, await denseUpTo(journal, head)),
  Tree: ({ journal }, { question, record, set, now }) => tree(journal, question, record.life ?? set, now),
  Keyring: async (ports, call) => {
    const exported = await sealedKeyring(call, ports)
    if (exported.term < call.question.term) throw termToCome(call.question.term)
    return exported
  },
  Handover: handover,
  Fence: fence,
  Notify: async (ports, call) => {
    await wakePuller(ports, call)
    return {}
  },
}
