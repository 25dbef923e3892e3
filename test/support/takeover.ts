import { randomBytes } from 'node:crypto'
import { readActivation } from '../../shared/link/activation-token.ts'
import { claimMembership } from '../../shared/link/admin/claim.ts'
import { admissionChanges } from '../../shared/link/admin/joining.ts'
import { encryptOwnKey } from '../../shared/link/admin/keys.ts'
import { linkPair, newLinkPair } from '../../shared/link/pair.ts'
import type { ClusterRecord } from '../../shared/model/cluster.ts'
import { epochName, withEpoch } from '../../shared/replication/position.ts'
import { replace } from '../../shared/storage/changes.ts'
import { key } from '../../shared/storage/kinds.ts'
import type { SetMember } from './set/member.ts'

/** Takes over as a forced promotion does, once everything staged is applied; nobody is asked. */
export async function claimByForce({ ports }: SetMember): Promise<string> {
  const [record] = await ports.store.read([key('cluster')])
  const head = await ports.journal.head()
  if (!record || !head) throw new Error('nothing is here')
  const { mode, hold, seq, n, line } = head
  const epoch = epochName(n + 1, record.data.id)
  const { link, member } = await claimMembership(ports, record.data, epoch)
  const data: ClusterRecord = { ...record.data, mode: 'primary', epoch, built: true, link }
  const { kind, pk, sk, rev } = record
  const put = { kind, pk, sk, rev: randomBytes(12).toString('base64url'), data }
  const claimed = { mode: 'writing' as const, epoch, own: epoch, n: n + 1, hold: hold + 1, done: seq }
  const done = await ports.journal.transact([
    { head: { ...claimed, line: withEpoch(line, epoch, seq + 1) }, expect: { mode, hold, seq, n } },
    { item: { kind, pk, sk }, put, if: { rev } },
    member,
  ])
  if (done !== 'done') throw new Error(`the claim did not come about: ${JSON.stringify(done)}`)
  return epoch
}

/** Has a secondary follow another primary of its set, by a new token of that one's. */
export async function follow(member: SetMember, primary: SetMember): Promise<void> {
  const { ports } = member
  const id = `${member.name}-again`
  const { body } = await primary.ok('POST', '/sys/replication/dr/primary/secondary-token', { id })
  const token: string = body.wrap_info.token
  const activation = readActivation(token)
  const [record, self] = await ports.store.read([key('cluster'), key('member', (await member.record()).id)])
  if (!activation || !record) throw new Error('no token, or no record')
  const text = newLinkPair(randomBytes)
  const { set, addr } = activation
  const otherKey = Buffer.from(activation.primaryKey, 'base64url').toString('base64')
  const link = member.connect({ set, id, pair: linkPair(text), otherKey, addresses: [addr] })
  const address = record.data.clusterAddr ?? ''
  const got = await link.activate({ token, cluster: record.data.id, address, version: '1' })
  const ownKey = await encryptOwnKey(text, ports.cipher)
  const next = { id, primaryAddr: addr, addrs: got.addresses, primaryKey: got.primaryKey, ownKey }
  const known = { ...got, addresses: [...got.addresses, ...got.met] }
  const changes = [
    replace(record, record, { ...record.data, link: next }),
    ...(await admissionChanges(ports.store, record.data.id, self, known)),
  ]
  const readAt = ports.clock.now()
  if ((await ports.store.commit(changes, { record: record.data, readAt })) !== 'done')
    throw new Error('the record was changed meanwhile')
}
