import { reachOverConnections } from './tap-kind.ts'

// Import before `cluster.ts` in files that test calls of the SDK itself, on real connections.
reachOverConnections()
