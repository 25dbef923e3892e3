import { allowByPolicy, type Endpoint } from '../api/endpoint.ts'
import { ApiError, denialError } from '../api/errors.ts'
import { matchesOperationToken } from '../ceremony/generated-token.ts'
import {
  operationTokenMissingError,
  operationTokenTypeError,
  unknownTermError,
} from '../ceremony/refusals.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import { BATCH_TOKEN_PREFIX, MAX_TOKEN_LENGTH } from '../model/token.ts'
import type { Ports } from '../ports.ts'
import { notASecondaryError } from '../replication/operation/refusals.ts'
import { type Item, key } from '../storage/kinds.ts'
import { listSuccessorTokenSigners } from '../tokens/successor-signers.ts'
import { Secret } from '../values/secret.ts'
import { authenticateToken, readPresentedToken, readSealingTerm, type ValidToken } from './authenticate.ts'
import { type AdmittedRequest, authoriseRequest, loadCaller } from './authorise.ts'
import type { FirstRead } from './base.ts'
import type { RequestIntake } from './intake.ts'

/**
 * Admits a request by its DR operation token. On a cluster that is not a secondary only the token in the header is checked, and a
 * request without one stays anonymous.
 * @throws ApiError `permission_denied`, `invalid_token`, `invalid_request`
 * @see docs/spec/operation-tokens.md#operation-tokens
 */
export async function admitOperationToken(
  endpoint: Endpoint,
  intake: RequestIntake,
  { cluster, mounts, fetched, now }: FirstRead,
  ports: Ports,
  identified: () => Promise<ValidToken>,
): Promise<AdmittedRequest | undefined> {
  if (!cluster) throw new ApiError('not_initialised')
  const { record } = cluster
  if (record.mode !== 'secondary') {
    if (intake.token) await loadCaller(await identified(), undefined, mounts, ports)
    // a request that a secondary accepted had a token, so a request without a token is not its repetition
    const repeats = (intake.raw['dr_operation_token'] ?? '') !== ''
    if (endpoint.serves === 'secondary' || !repeats) throw notASecondaryError(record.mode)
    return undefined
  }
  const facts = { mounts, source: intake.facts.source, now, record }
  const holder = await operatorOf(intake.raw, fetched.get(key('operation-token')), facts, ports)
  if (holder === 'generated') return { operator: 'generated', subjectKey: undefined, subject: undefined }
  const row = { ...endpoint, access: allowByPolicy('update') }
  const admitted = await authoriseRequest(row, intake, holder, { mounts, mount: undefined }, ports)
  return { ...admitted, operator: 'batch' }
}

/**
 * Finds the holder of the DR operation token: `generated` for the token made from recovery shares, else the holder of a valid batch
 * token. The caller must check the batch token's policies.
 * @param raw parameters as sent
 * @throws ApiError `invalid_request` without a token, `invalid_token` or `permission_denied` for an invalid one
 */
async function operatorOf(
  raw: Readonly<Record<string, unknown>>,
  generated: Item<'operation-token'> | undefined,
  { record, ...facts }: Omit<Parameters<typeof authenticateToken>[2], 'term'> & { record: ClusterRecord },
  { cipher, store }: Pick<Ports, 'cipher' | 'store'>,
): Promise<'generated' | ValidToken> {
  const text = raw['dr_operation_token'] ?? ''
  if (text === '') throw operationTokenMissingError()
  if (typeof text !== 'string') throw operationTokenTypeError()
  if (text.length > MAX_TOKEN_LENGTH) throw denialError('operation-token-unknown')
  if (generated && matchesOperationToken(text, generated.data, record)) return 'generated'
  // service tokens are not accepted in the body, so they are not looked up
  if (!text.startsWith(BATCH_TOKEN_PREFIX)) throw denialError('operation-token-unknown')
  const presented = await readPresentedToken(new Secret(text), cipher)
  const opened = await presented?.open()
  if (!opened?.batch) throw unknownTermError()
  const term = await readSealingTerm(opened, undefined, { store })
  const alive = authenticateToken(opened, undefined, {
    ...facts,
    term: term && (await withSuccessors(term, record, { store })),
  })
  if (alive.token.parent !== undefined) throw denialError('operation-token-not-orphan')
  return alive
}

/** Returns a term with the signers of clusters that have taken over from this cluster. */
async function withSuccessors(
  term: Item<'term'>,
  record: ClusterRecord,
  ports: Pick<Ports, 'store'>,
): Promise<Item<'term'>> {
  const more = await listSuccessorTokenSigners(term.sk, record, ports)
  return { ...term, data: { ...term.data, signers: [...term.data.signers, ...more] } }
}
