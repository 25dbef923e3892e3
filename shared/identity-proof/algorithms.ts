import { createPublicKey, verify } from 'node:crypto'
import known from './algorithms.json' with { type: 'json' }

/** A signature algorithm of AWS identity documents, and whether this runtime supports it. */
export interface AlgorithmSupport {
  name: string
  /** the documents that AWS signs with it, named as in a login */
  documents: string
  /** accepted only if the deployment accepts legacy signatures */
  legacy: boolean
  /** true if this runtime accepts a valid signature and rejects an invalid one */
  works: boolean
}

/**
 * Tests each algorithm on the current runtime. Another build of Node proves nothing, because Lambda links the system's OpenSSL,
 * whose policy may reject SHA-1, DSA or short keys. The test signatures come from discarded keys that nothing trusts.
 * @param check the runtime's signature verification
 * @see docs/look-up/unverified.md#signatures
 */
export const trySignatureAlgorithms = (check: typeof verify = verify): AlgorithmSupport[] =>
  known.algorithms.map(({ name, documents, legacy, digest, key, signature }) => {
    const judge = (message: string): boolean => {
      const trusted = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
      return check(digest, Buffer.from(message), trusted, Buffer.from(signature, 'base64'))
    }
    return { name, documents, legacy, works: worksFor(judge) }
  })

function worksFor(judge: (message: string) => boolean): boolean {
  try {
    return judge(known.message) && !judge(`${known.message} `)
  } catch {
    return false // a policy of OpenSSL, or an algorithm that it does not have
  }
}

/** Reports to an administrator which algorithms this deployment accepts, and whether they work. */
export function reportAlgorithms(algorithms: readonly AlgorithmSupport[], legacySignatures: boolean) {
  const signatures = algorithms.map(({ name, documents, legacy, works }) => ({
    algorithm: name,
    documents,
    accepted: legacySignatures || !legacy,
    works_on_this_runtime: works,
  }))
  const warnings = signatures
    .filter(one => one.accepted && !one.works_on_this_runtime)
    .map(one => `this runtime cannot verify ${one.algorithm}, so logins with documents signed with it fail`)
  return { signatures, warnings }
}
