import type { Epoch, JournalLineage, JournalPosition } from '../journal/position.ts'
import type { MembershipStatement, TermSigner } from '../model/link.ts'
import {
  ActivateRequestSchema,
  ActivateResponseSchema,
  FenceRequestSchema,
  FenceResponseSchema,
  HandoverRequestSchema,
  HandoverResponseSchema,
  type Statement as StatementMessage,
} from '../wire/gen/link_pb.ts'
import { createMessageForm, decodeLineage, encodeLineage, parseMessageEpoch, toSafeInteger } from './forms.ts'
import type { ActivateAnswer, ActivateRequest, HandedOverEpoch } from './source.ts'

/* Messages that change the role of a cluster: an activation, a handover, a fence. */

const statementForm = ({ key, signature, ...statement }: MembershipStatement) => ({
  ...statement,
  key: Buffer.from(key, 'base64'),
  signature: Buffer.from(signature, 'base64'),
})

function readStatement(message: StatementMessage | undefined): MembershipStatement {
  if (!message) throw new Error('a statement is missing')
  const { set, issuer, subject, key, epoch, signature } = message
  return {
    set,
    issuer,
    subject,
    epoch,
    key: Buffer.from(key).toString('base64'),
    signature: Buffer.from(signature).toString('base64'),
  }
}

const chainOf = (messages: readonly StatementMessage[]): MembershipStatement[] => messages.map(readStatement)

/**
 * The question that hands in an activation token. The question has either `sealed` and the format, or everything
 * else.
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
    ({ token, cluster, address, format, version, sealed, ...one }): ActivateQuestion => ({
      token,
      cluster,
      address,
      format,
      version,
      sealed,
      signingKey: Buffer.from(one.signingKey),
      exchangeKey: Buffer.from(one.exchangeKey),
      proof: Buffer.from(one.proof),
      earlierProof: Buffer.from(one.earlierProof),
    }),
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
    ({ lineage, shares, threshold, statement, chain, ...one }) => {
      return {
        primary: one.primary,
        epoch: parseMessageEpoch(one.epoch),
        keyring: one.keyring,
        format: one.format,
        addresses: one.addresses,
        memberAddresses: one.memberAddresses,
        lineage: decodeLineage(lineage),
        recovery: { shares, threshold },
        statement: readStatement(statement),
        chain: chainOf(chain),
      }
    },
  ),
}

export const handoverMessageForms = {
  question: createMessageForm(
    HandoverRequestSchema,
    (one: { epoch: string }) => one,
    ({ epoch: name }): { epoch: string } => ({ epoch: parseMessageEpoch(name) }),
  ),
  answer: createMessageForm(
    HandoverResponseSchema,
    ({ epoch: name, seq, addresses, keyring }: HandedOverEpoch) => ({
      end: { epoch: name, seq: BigInt(seq) },
      addresses: [...addresses],
      keyring,
    }),
    ({ end, addresses, keyring }): HandedOverEpoch => ({
      epoch: parseMessageEpoch(end?.epoch ?? ''),
      seq: toSafeInteger(end?.seq ?? 0n),
      addresses,
      keyring,
    }),
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
    ({ cluster, signingKey, epoch: name, lineage, chain, addresses, signers }): FenceQuestion => ({
      cluster,
      epoch: parseMessageEpoch(name),
      lineage: decodeLineage(lineage),
      chain: chainOf(chain),
      addresses,
      signers: signers.map(signer => ({
        term: signer.term,
        key: Buffer.from(signer.key).toString('base64'),
      })),
      key: Buffer.from(signingKey).toString('base64'),
    }),
  ),
  answer: createMessageForm(
    FenceResponseSchema,
    ({ epoch: name, seq, voucher, cluster, key, chain, addresses }: FenceReply) => ({
      end: { epoch: name, seq: BigInt(seq) },
      voucher: statementForm(voucher),
      cluster,
      signingKey: Buffer.from(key, 'base64'),
      chain: chain.map(statementForm),
      addresses: [...addresses],
    }),
    ({ end, voucher, cluster, signingKey, chain, addresses }): FenceReply => ({
      epoch: parseMessageEpoch(end?.epoch ?? ''),
      seq: toSafeInteger(end?.seq ?? 0n),
      voucher: readStatement(voucher),
      cluster,
      key: Buffer.from(signingKey).toString('base64'),
      chain: chainOf(chain),
      addresses,
    }),
  ),
}
