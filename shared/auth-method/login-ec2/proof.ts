import type { MountCall } from '../../api/call.ts'
import { invalid, type Refusal } from '../../api/errors.ts'
import {
  type DocumentProof,
  needsMoreKeys,
  proveDocument,
  readProof,
  type VerifiedProof,
} from '../../identity-proof/instance-document.ts'
import { builtInKeys, registeredKey } from '../../identity-proof/trust.ts'
import { type Item, type Key, key, partitions } from '../../storage/kinds.ts'
import { refuse } from '../login/checks.ts'
import { hintOf, remember } from '../login/hints.ts'

/** A proof that has been read; with `document`, the provider's own keys vouch for it. */
export interface Ec2Proof {
  type: 'ec2'
  proof: DocumentProof
  document?: VerifiedProof
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
  const found = proveDocument(proof, await builtInKeys(legacy), legacy)
  if (!('why' in found)) return { type: 'ec2', proof, document: found }
  return needsMoreKeys(found) ? { type: 'ec2', proof } : refuse(found)
}

/** The certificate that vouched for the last document of this form, if any did. */
export function guessCertificate(
  keyHints: Map<string, string>,
  accessor: string,
  { form }: DocumentProof,
): Key<'certificate'>[] {
  const name = keyHints.get(hintOf.certificate(accessor, form))
  return name === undefined ? [] : [key('certificate', accessor, name)]
}

/**
 * The document, for which the provider or a certificate that administrators of the mount registered vouches.
 * A certificate that vouched before is one item; otherwise all of them are looked at.
 * @throws ApiError `invalid_request`
 */
export async function provenDocument(call: MountCall, { proof, document }: Ec2Proof): Promise<VerifiedProof> {
  if (document) return document
  const { accessor } = call.mount
  const { keyHints, store, deployment } = call.ports
  const by = (items: readonly Item<'certificate'>[]): VerifiedProof | Refusal => {
    const speaking = items.filter(item => item.data.type === proof.form)
    return proveDocument(
      proof,
      speaking.map(item => registeredKey(item.data.pem)),
      deployment.legacySignatures,
    )
  }
  const [guessed] = await call.fetched.read(guessCertificate(keyHints, accessor, proof))
  const early = guessed && by([guessed])
  if (early && !('why' in early)) return early
  const registered = await store.list(partitions('certificate', accessor))
  const found = by(registered)
  if ('why' in found) return refuse(found)
  const alone = registered.find(item => !('why' in by([item])))
  if (alone) remember(call.ports, hintOf.certificate(accessor, proof.form), alone.sk)
  return found
}
