import { reachOverConnections } from './tap-kind.ts'

// Imported before `cluster.ts`, by files that show what becomes of calls of the SDK itself, on real connections.
reachOverConnections()
