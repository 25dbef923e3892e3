import { serveLoginsByWebFunction } from './login-front.ts'

// Import before `cluster.ts` in files that test logins of a Web Function.
serveLoginsByWebFunction()
