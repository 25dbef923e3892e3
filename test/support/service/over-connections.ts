import { reachOverConnections } from './tap-kind.ts'

// Test files that test calls of the SDK itself, on real connections, import this module before `cluster.ts`.
reachOverConnections()
