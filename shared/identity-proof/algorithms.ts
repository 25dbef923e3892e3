import { createPublicKey, verify } from 'node:crypto'
import known from './algorithms.json' with { type: 'json' }

/** An algorithm with which AWS signs identity documents, and what this runtime makes of it. */
export interface Algorithm {
  name: string
  /** the documents that are signed with it, as a login names them */
  documents: string
  /** counts only where the deployment accepts legacy signatures */
  legacy: boolean
  /** this runtime tells a signature that is right from one that is not */
  works: boolean
}

/**
 * Tries each algorithm on the runtime that this runs on. What one build of Node verifies proves nothing about
 * another: Lambda's links the system's OpenSSL, whose policy may refuse SHA-1, DSA or short keys. The signatures
 * were made once by keys that were thrown away; nothing trusts them.
 * @param check the runtime's own verification
 */
export const tryAlgorithms = (check: typeof verify = verify): Algorithm[] =>
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

/** What an administrator is shown: which algorithms count here, and whether they work. */
export function reportAlgorithms(algorithms: readonly Algorithm[], legacySignatures: boolean) {
  const signatures = algorithms.map(({ name, documents, legacy, works }) => ({
    algorithm: name,
    documents,
    accepted: legacySignatures || !legacy,
    works_on_this_runtime: works,
  }))
  const warnings = signatures
    .filter(one => one.accepted && !one.works_on_this_runtime)
    .map(one => `this runtime does not verify ${one.algorithm}, so documents signed with it cannot log in`)
  return { signatures, warnings }
}
