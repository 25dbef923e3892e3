import { serveLoginsByWebFunction } from './login-front.ts'

// Imported before `cluster.ts`, by files that show that logins in a Web Function are the same logins.
serveLoginsByWebFunction()
