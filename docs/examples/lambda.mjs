// A Lambda function that logs in at its first call, and keeps the token for later calls of its environment.
//   BASE=https://auth.example.com/v1 ROLE=shop AUDIENCE=https://auth.example.com
import { logInByToken } from './sdk-login.mjs'

let token
let logins = 0

/** Returns a token whose last third has not begun. */
async function freshToken() {
  if (token === undefined || Date.now() > token.goodUntil) {
    const asked = Date.now()
    const auth = await logInByToken()
    logins += 1
    token = { ...auth, goodUntil: asked + (auth.lease_duration * 1000 * 2) / 3 }
  }
  return token
}

export async function handler() {
  const { policies } = await freshToken()
  return { logins, policies }
}
