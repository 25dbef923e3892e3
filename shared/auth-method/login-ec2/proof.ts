import { invalid } from '../../api/errors.ts'
import {
  type DocumentProof,
  type InstanceDocument,
  needsMoreKeys,
  readProof,
  refuseProof,
} from '../../identity-proof/instance-document.ts'
import { builtInKeys, registeredKey } from '../../identity-proof/trust.ts'
import type { Store } from '../../ports.ts'
import { partitions } from '../../storage/kinds.ts'
import { refuse } from '../login/checks.ts'

/** A proof that has been read; with `verified`, the provider's own keys vouch for it. */
export interface Ec2Proof {
  type: 'ec2'
  proof: DocumentProof
  document: InstanceDocument
  verified: boolean
}

export interface Ec2Input {
  pkcs7?: string
  identity?: string
  signature?: string
}

/**
 * Reads and checks the signature as far as that is possible without storage. A document of which only a
 * registered certificate could know is left for later.
 * @throws ApiError `invalid_request`
 */
export async function proveEarly(input: Ec2Input, legacy: boolean): Promise<Ec2Proof> {
  const proof = readProof(input)
  if ('why' in proof) throw invalid(proof.text, { reason: { why: proof.why } })
  const found = refuseProof(proof, await builtInKeys(legacy), legacy)
  if (found && !needsMoreKeys(found)) refuse(found)
  return { type: 'ec2', proof, document: proof.document, verified: found === undefined }
}

/**
 * Checks the rest with the certificates that administrators of the mount registered: one more read.
 * @throws ApiError `invalid_request`
 */
export async function proveWithRegistered(
  given: Ec2Proof,
  store: Store,
  accessor: string,
  legacy: boolean,
): Promise<void> {
  if (given.verified) return
  const registered = await store.list(partitions('certificate', accessor))
  const wanted = given.proof.form
  const keys = registered.filter(item => item.data.type === wanted).map(item => registeredKey(item.data.pem))
  const found = refuseProof(given.proof, keys, legacy)
  if (found) refuse(found)
}
