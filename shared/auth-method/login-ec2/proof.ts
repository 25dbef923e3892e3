import type { MountCall } from '../../api/call.ts'
import {
  addCertificateHint,
  type DocumentProof,
  type InstanceDocument,
  type VerifiedProof,
  verifyDocumentProof,
} from '../../identity-proof/instance-document.ts'
import { readRegisteredKey } from '../../identity-proof/trust.ts'
import type { TrustedKey } from '../../model/trusted-key.ts'
import type { Ports } from '../../ports.ts'
import { type Item, itemPartitions, type Key, key } from '../../storage/kinds.ts'
import { throwLoginRefusal } from '../login/checks.ts'

/** A parsed proof. `document` is set if a built-in AWS key has verified it. */
export interface Ec2Proof {
  type: 'ec2'
  proof: DocumentProof
  document?: VerifiedProof
  /** the content of the document, if a remembered certificate of the mount verifies it */
  guess?: ProbableDocument | undefined
}

export interface Ec2ProofInput {
  pkcs7?: string
  identity?: string
  signature?: string
}

const MOST_CERTIFICATES = 1000
const nameOf = (accessor: string, { form }: DocumentProof): string => `${accessor} ${form}`

/**
 * A document that a remembered certificate verified, without parsing the certificate. The guess counts only if the
 * batch read finds the certificate unchanged, because the certificate may have been deleted or replaced.
 */
export interface ProbableDocument {
  place: Key<'certificate'>
  document: InstanceDocument
  /** Returns the document if the stored certificate still has the revision that was remembered. */
  confirm: (stored: Item<'certificate'> | undefined) => VerifiedProof | undefined
}

export function verifyByRememberedKey(
  { memory, deployment }: Pick<Ports, 'memory' | 'deployment'>,
  accessor: string,
  proof: DocumentProof,
): ProbableDocument | undefined {
  const known = memory.certificates?.get(nameOf(accessor, proof))
  if (!known) return undefined
  const proven = verifyDocumentProof(proof, [known.key], deployment.legacySignatures)
  if (!proven.ok) return undefined
  const document = proven.value
  const place = key('certificate', accessor, known.name)
  return { place, document: document, confirm: stored => (stored?.rev === known.rev ? document : undefined) }
}

function rememberVouching(
  { memory }: Pick<Ports, 'memory'>,
  name: string,
  { sk, rev }: Item<'certificate'>,
  trusted: TrustedKey,
): void {
  memory.certificates ??= new Map()
  if (memory.certificates.size >= MOST_CERTIFICATES) memory.certificates.clear()
  memory.certificates.set(name, { name: sk, rev, key: trusted })
}

/**
 * Returns the document, verified by a built-in AWS key or by a certificate registered at the mount. Reads one item for a
 * certificate that verified a document before, else all certificates of the mount.
 * @throws ApiError `invalid_request`
 */
export async function verifyDocument(
  call: MountCall,
  { proof, document, guess: early }: Ec2Proof,
): Promise<VerifiedProof> {
  if (document) return document
  const { accessor } = call.mount
  const { store, deployment } = call.ports
  // the mount at this path may have changed since the guess was made
  const ours = early?.place.pk === key('certificate', accessor, '').pk ? early : undefined
  const guess = ours ?? verifyByRememberedKey(call.ports, accessor, proof)
  const [stored] = guess ? await call.fetched.read([guess.place]) : []
  const confirmed = guess?.confirm(stored)
  if (confirmed) return confirmed
  const registered = await store.list(itemPartitions('certificate', accessor))
  const speaking = registered
    .filter(item => item.data.type === proof.form)
    .map(item => ({ item, trusted: readRegisteredKey(item.data.pem) }))
  const by = (keys: readonly TrustedKey[]) => verifyDocumentProof(proof, keys, deployment.legacySignatures)
  const found = by(speaking.map(({ trusted }) => trusted))
  if (!found.ok)
    return throwLoginRefusal(speaking.length > 0 ? found.fault : addCertificateHint(found.fault, proof.form))
  const alone = speaking.find(({ trusted }) => by([trusted]).ok)
  if (alone) {
    rememberVouching(call.ports, nameOf(accessor, proof), alone.item, alone.trusted)
    // later reads of this attempt must not fetch the certificate again
    call.fetched.keep(key('certificate', accessor, alone.item.sk), alone.item)
  }
  return found.value
}
