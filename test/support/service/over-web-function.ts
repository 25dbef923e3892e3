import { serveLoginsByWebFunction } from './login-front.ts'

// Test files that test logins of a Web Function import this module before `cluster.ts`.
serveLoginsByWebFunction()
