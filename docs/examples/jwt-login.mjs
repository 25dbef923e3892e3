// Asks AWS for a token about this process, logs in to cloud-auth with the token, and renews the token of cloud-auth once.
//   BASE=https://auth.example.com/v1 ROLE=shop AUDIENCE=https://auth.example.com AWS_REGION=eu-west-1 node jwt-login.mjs
import { logInByToken, renew } from './sdk-login.mjs'

const first = await logInByToken()
const renewed = await renew(first.client_token)
process.stdout.write(
  `logged in for ${first.lease_duration} s with ${first.policies}, renewed for ${renewed.lease_duration} s\n`,
)
