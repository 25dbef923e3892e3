import { createRequire } from 'node:module'
import { findConstructFault } from './requirements.ts'

// the command's users install the package without the peers, so the peers are loaded here and not by imports
const load = createRequire(import.meta.url)

function isInstalled(name: string): boolean {
  try {
    load.resolve(name)
    return true
  } catch {
    return false
  }
}

const fault = findConstructFault(process.versions.node, isInstalled)

/** Stands for the construct if the construct cannot be used. */
class UnusableConstruct {
  constructor() {
    throw new Error(fault)
  }
}

/** The published construct. */
export const CloudAuth =
  fault === undefined
    ? (load('./construct.cjs') as typeof import('./construct.ts')).CloudAuth
    : UnusableConstruct
