import type { Epoch, JournalLineage, JournalPosition } from '../journal/position.ts'
import type { MembershipStatement, TermSigner } from '../model/link.ts'
import {
  ActivateRequestSchema,
  ActivateResponseSchema,
  FenceRequestSchema,
  FenceResponseSchema,
  HandoverRequestSchema,
  HandoverResponseSchema,
  type Position as PositionMessage,
  type Statement as StatementMessage,
} from '../wire/gen/link_pb.ts'
import {
  createMessageForm,
  decodeLineage,
  encodeLineage,
  type MessageFields,
  parseMessageEpoch,
} from './forms.ts'
import type { ActivateAnswer, ActivateRequest, HandedOverEpoch } from './source.ts'

/* Messages that change the role of a cluster: an activation, a handover, a fence. */

const statementForm = ({ key, signature, ...statement }: MembershipStatement) => ({
  ...statement,
  key: Buffer.from(key, 'base64'),
  signature: Buffer.from(signature, 'base64'),
})

function readStatement(message: MessageFields<StatementMessage> | undefined): MembershipStatement {
  if (!message) throw new Error('a statement is missing')
  const { key, signature, ...statement } = message
  return { ...statement, key: key.toString('base64'), signature: signature.toString('base64') }
}

/**
 * The request that hands in an activation token. The request has either `sealed` and `format`, or all other
 * fields.
 */
export interface ActivateQuestion extends Omit<ActivateRequest, 'earlier'> {
  /** raw keys of the caller */
  signingKey: Buffer
  exchangeKey: Buffer
  format: number
  /** `sealed` contains an activation question, from `sealActivationRequest`; empty: this question is unsealed */
  sealed: string
  /** `proof`: proofs that the cluster has these keys; empty: no proof */
  proof: Buffer
  earlierProof: Buffer
}

export const activateMessageForms = {
  question: createMessageForm(
    ActivateRequestSchema,
    (one: ActivateQuestion) => one,
    (one): ActivateQuestion => one,
  ),
  answer: createMessageForm(
    ActivateResponseSchema,
    ({
      lineage,
      recovery,
      statement,
      chain,
      ...one
    }: Omit<ActivateAnswer, 'set' | 'primaryKey'> & { format: number }) => ({
      ...one,
      ...recovery,
      lineage: encodeLineage(lineage),
      statement: statementForm(statement),
      chain: chain.map(statementForm),
    }),
    ({ epoch, lineage, shares, threshold, statement, chain, ...one }) => ({
      ...one,
      epoch: parseMessageEpoch(epoch),
      lineage: decodeLineage(lineage),
      recovery: { shares, threshold },
      statement: readStatement(statement),
      chain: chain.map(readStatement),
    }),
  ),
}

/** Reads the end of an epoch. */
const readEnd = (end: MessageFields<PositionMessage> | undefined): JournalPosition => ({
  epoch: parseMessageEpoch(end?.epoch ?? ''),
  seq: end?.seq ?? 0,
})

export const handoverMessageForms = {
  question: createMessageForm(
    HandoverRequestSchema,
    (one: { epoch: string }) => one,
    ({ epoch }) => ({ epoch: parseMessageEpoch(epoch) }),
  ),
  answer: createMessageForm(
    HandoverResponseSchema,
    ({ epoch, seq, addresses, keyring }: HandedOverEpoch) => ({
      end: { epoch, seq: BigInt(seq) },
      addresses: [...addresses],
      keyring,
    }),
    ({ end, ...one }): HandedOverEpoch => ({ ...one, ...readEnd(end) }),
  ),
}

/** The question with which a primary fences another cluster. */
export interface FenceQuestion {
  /** UUID of the claimant's cluster */
  cluster: string
  /** raw Ed25519 key that signed the call, base64 */
  key: string
  epoch: Epoch
  lineage: JournalLineage
  /** `chain`: statements that lead to the key that signed the call */
  chain: readonly MembershipStatement[]
  addresses: readonly string[]
  /** the keys with which the claimant signs batch tokens */
  signers: readonly TermSigner[]
}

/** The answer of a cluster that has ended its epoch because of a fence. */
export interface FenceReply extends JournalPosition {
  /** `voucher` is the fenced cluster's statement about the claimant */
  voucher: MembershipStatement
  /**
   * UUID of the fenced cluster, the raw Ed25519 key that signs the answer (base64), and the statements that lead to
   * this key
   */
  cluster: string
  key: string
  chain: readonly MembershipStatement[]
  addresses: readonly string[]
}

export const fenceMessageForms = {
  question: createMessageForm(
    FenceRequestSchema,
    ({ key, lineage, chain, addresses, signers, ...one }: FenceQuestion) => ({
      ...one,
      signingKey: Buffer.from(key, 'base64'),
      lineage: encodeLineage(lineage),
      chain: chain.map(statementForm),
      addresses: [...addresses],
      signers: signers.map(signer => ({ term: signer.term, key: Buffer.from(signer.key, 'base64') })),
    }),
    ({ signingKey, epoch, lineage, chain, signers, ...one }): FenceQuestion => ({
      ...one,
      epoch: parseMessageEpoch(epoch),
      lineage: decodeLineage(lineage),
      chain: chain.map(readStatement),
      signers: signers.map(({ term, key }) => ({ term, key: key.toString('base64') })),
      key: signingKey.toString('base64'),
    }),
  ),
  answer: createMessageForm(
    FenceResponseSchema,
    ({ epoch, seq, voucher, cluster, key, chain, addresses }: FenceReply) => ({
      end: { epoch, seq: BigInt(seq) },
      voucher: statementForm(voucher),
      cluster,
      signingKey: Buffer.from(key, 'base64'),
      chain: chain.map(statementForm),
      addresses: [...addresses],
    }),
    ({ end, voucher, signingKey, chain, ...one }): FenceReply => ({
      ...one,
      ...readEnd(end),
      voucher: readStatement(voucher),
      key: signingKey.toString('base64'),
      chain: chain.map(readStatement),
    }),
  ),
}
